"""Specs for rule tests.

A snippet of a rule's page, or of a test, says only what matters. It is merged into `MINIMAL`, a valid spec on which no
rule has anything to say: mappings are merged key by key, anything else replaces what stands there. A first line
`# rows: 1024` gives the number of training rows (`# rows: 1024, 0` also that of validation rows); models named
`one-architecture`, `two-architectures` and `with-heads` are folders with such a config.json, and the checkpoint
`four-workers/global_step_10` was written by four workers.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from orbiter_spec.plan import Plan, Rows, make_plan
from orbiter_spec.rules import RULES, rule_id
from orbiter_spec.rules.finding import Finding
from orbiter_spec.spec.experiment import Experiment

MINIMAL: dict[str, Any] = {
    "version": 1,
    "name": "page",
    "agent": {"model": "some/model"},
    "dataset": {"train": "rows.jsonl"},
    "rewards": [{"builtin": "exact_match"}],
    "algorithm": {"name": "grpo"},
    "hardware": {"accelerator": "H100", "nodes": 1, "gpus_per_node": 8},
}
MODELS = {
    "one-architecture": {"architectures": ["LlamaForCausalLM"]},
    "two-architectures": {"architectures": ["LlamaForCausalLM", "LlamaModel"]},
    "with-heads": {"architectures": ["DeepseekV3ForCausalLM"], "num_nextn_predict_layers": 1},
}
CHECKPOINT = "four-workers/global_step_10"


def merge(base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """`patch` over `base`; mappings by key, anything else replaces."""
    merged = copy.deepcopy(dict(base))
    for key, value in patch.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else copy.deepcopy(value)
    return merged


def plan_of(snippet: str | Mapping[str, Any], folder: Path | None = None) -> Plan:
    """The plan of `snippet` merged into the minimal spec."""
    text = snippet if isinstance(snippet, str) else ""
    patch = YAML(typ="safe").load(text) or {} if isinstance(snippet, str) else snippet
    rows = re.match(r"# rows: (\d+)(?:, (\d+))?", text)
    counts = Rows(int(rows[1]), int(rows[2]) if rows[2] else None) if rows else Rows()
    experiment = Experiment.model_validate(merge(MINIMAL, patch))
    name = experiment.agent.model.path
    paths = {}
    if folder is not None and name in MODELS:
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "config.json").write_text(json.dumps(MODELS[name]))
        paths["agent.model.path"] = str(folder / name)
    resume = experiment.run and experiment.run.checkpoint and experiment.run.checkpoint.resume
    if folder is not None and resume == CHECKPOINT:
        (folder / resume / "actor").mkdir(parents=True, exist_ok=True)
        for rank in range(4):
            (folder / resume / "actor" / f"model_world_size_4_rank_{rank}.pt").touch()
        paths["run.checkpoint.resume"] = str(folder / resume)
    return make_plan(experiment, rows=counts, paths=paths)


def findings_of(plan: Plan) -> list[tuple[str, Finding]]:
    """Every finding with its rule's id."""
    return [(rule_id(rule), finding) for rule in RULES for finding in rule.check(plan)]


@pytest.fixture
def judge(tmp_path: Path) -> Callable[[str | Mapping[str, Any]], list[tuple[str, Finding]]]:
    """A function from a snippet to the findings on it."""
    return lambda snippet: findings_of(plan_of(snippet, tmp_path))
