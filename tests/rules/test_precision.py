"""No error where verl accepts: launch commands of verl's own tree, and plans that keep verl's defaults."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks import flatten
from orbiter_spec.rules import RULES
from tests.rules.conftest import findings_of, merge, plan_of
from tests.rules.recall_cases import SPECS
from tests.rules.test_check_pages import findings_of as key_findings_of
from tests.rules.test_pages import snippet

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "dev.json"
TREES = {"dp": "", "megatron": "_megatron", "veomni": "_veomni", "torchtitan": "_torchtitan"}


def test_no_error_on_published_commands() -> None:
    if not CORPUS.is_file() or importlib.util.find_spec("verl") is None:
        pytest.skip("needs verl and the corpus beside the project")
    import verl
    from omegaconf import OmegaConf

    folder = Path(verl.__file__).parent / "trainer" / "config"
    defaults: dict[str, dict[str, Any]] = {}
    for engine, name in TREES.items():
        tree = OmegaConf.to_container(OmegaConf.load(folder / f"_generated_ppo{name}_trainer.yaml"), resolve=True)
        assert isinstance(tree, dict)
        defaults[engine] = flatten({str(key): value for key, value in tree.items()})
    seen = 0
    for entry in json.loads(CORPUS.read_text(encoding="utf-8")):
        outcome = entry if entry["composes"] else entry.get("repaired") or {}
        difference = entry.get("resolved_diff") or outcome.get("resolved_diff")
        if entry["engine"] not in defaults or not difference:
            continue
        seen += 1
        found = key_findings_of({**defaults[entry["engine"]], **flatten(difference)})
        assert [item for item in found if item[1].severity is Severity.ERROR] == [], entry["id"]
    assert seen > 30


@pytest.mark.parametrize("text", [*(pair[0] for pair in SPECS.values()), *(snippet(rule, "Bad") for rule in RULES)])
def test_rules_bear_what_a_plan_leaves_open(text: str, tmp_path: Path) -> None:
    """A plan that keeps verl's defaults decides less; no rule may trip over what is open."""
    from ruamel.yaml import YAML

    findings_of(plan_of(merge(YAML(typ="safe").load(text) or {}, {"verl": {"defaults": True}}), tmp_path))
