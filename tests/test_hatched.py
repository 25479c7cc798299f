"""Rules look at words of the language that were written as overrides, and tell what they find at the override."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.compiler import check
from orbiter_spec.diagnostics import Severity

SPEC = """version: 1
name: hatched
agent: {model: Qwen/Qwen2.5-7B-Instruct}
dataset: {train: rows.jsonl}
rewards: [{builtin: exact_match}]
algorithm: {name: grpo, batch: {prompts: 64}}
hardware: 8xH100
"""
ROLLOUT, ACTOR = "actor_rollout_ref.rollout", "actor_rollout_ref.actor"
SHARED = "ulysses_sequence_parallel_size"


def findings(folder: Path, overrides: dict[str, Any], spec: str = SPEC) -> list[tuple[str, Severity, int]]:
    """Id, severity and line of every finding but the note that a word would be better."""
    rows = [{"prompt": f"question {number}", "answer": "1"} for number in range(256)]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    text = spec + f"verl:\n  overrides:\n    {json.dumps(overrides)[1:-1]}\n".replace('": ', '": ')
    (folder / "spec.yaml").write_text(text, encoding="utf-8")
    found = check(folder / "spec.yaml").report.diagnostics
    return [(item.id, item.severity, item.place.line if item.place else 0) for item in found if item.id != "ORB602"]


@pytest.mark.parametrize(
    ("overrides", "rule"),
    [
        ({"trainer.logger": ["consol"]}, "ORB102"),
        ({"algorithm.rollout_correction.rollout_rs": "token_k9"}, "ORB315"),
        ({f"{ROLLOUT}.agent.default_agent_loop": "mine"}, "ORB427"),
        ({f"{ACTOR}.ppo_mini_batch_size": 48}, "ORB201"),
        ({"algorithm.adv_estimator": "remax"}, "ORB302"),
        ({"ray_kwargs.ray_init.num_cpus": 2}, "ORB216"),
        ({f"{ACTOR}.fsdp_config.ulysses_sequence_parallel_size": 8}, "ORB221"),
    ],
)
def test_rule_speaks_at_the_override(overrides: dict[str, Any], rule: str, tmp_path: Path) -> None:
    assert (rule, Severity.WARNING, 10) in findings(tmp_path, overrides)


def test_what_fits_is_silent(tmp_path: Path) -> None:
    fits = {f"{ROLLOUT}.gpu_memory_utilization": 0.6, f"{ACTOR}.ppo_mini_batch_size": 32, "trainer.logger": ["console"]}
    for key, value in fits.items():
        assert findings(tmp_path, {key: value}) == []


def test_what_the_spec_has_already_is_not_said_again(tmp_path: Path) -> None:
    spec = SPEC.replace("prompts: 64", "prompts: 64, minibatch: 48")
    found = findings(tmp_path, {f"{ROLLOUT}.gpu_memory_utilization": 0.6}, spec)
    assert [(name, line) for name, _, line in found] == [("ORB201", 6)]


@pytest.mark.parametrize(
    "overrides", [{"trainer.nnodes": [1]}, {f"{ACTOR}.checkpoint.save_contents": 3}, {ROLLOUT: 5}, {"trainer": "x"}]
)
def test_other_kind_is_an_error_at_the_override(overrides: dict[str, Any], tmp_path: Path) -> None:
    assert ("ORB604", Severity.ERROR, 10) in findings(tmp_path, overrides)


@pytest.mark.parametrize("overrides", [{f"{ACTOR}.{SHARED}": 3}, {ACTOR: {SHARED: 3}}, {f"++{ACTOR}.{SHARED}": 3}])
def test_an_older_key_is_told_at_the_override(overrides: dict[str, Any], tmp_path: Path) -> None:
    assert ("ORB207", Severity.ERROR, 10) in findings(tmp_path, overrides)
