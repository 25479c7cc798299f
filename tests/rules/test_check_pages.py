"""Checks of the lowered configuration: Bad gives exactly this id, Good gives silence.

A page's snippet is a flat list of verl keys; it is laid over `SOUND`, a few keys of a sound configuration. What is not
there is at verl's default, as the checks assume it.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ruamel.yaml import YAML

from orbiter_spec.diagnostics import Place, Severity
from orbiter_spec.lower.checks import CHECKS, check_id, run_checks, title
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.meaning import flatten
from orbiter_spec.rules import RULES, rule_id

SOUND: dict[str, Any] = {
    "actor_rollout_ref.actor.strategy": "fsdp2",
    "actor_rollout_ref.actor.use_dynamic_bsz": True,
    "actor_rollout_ref.model.path": "some/model",
    "actor_rollout_ref.rollout.name": "vllm",
    "actor_rollout_ref.rollout.n": 8,
    "algorithm.adv_estimator": "grpo",
    "critic.strategy": "fsdp2",
    "trainer.save_freq": 20,
}


def keys_of(check: ModuleType, heading: str) -> dict[str, Any]:
    found = re.search(rf"^## {heading}\n\n```yaml\n(.*?)^```$", check.__doc__ or "", re.MULTILINE | re.DOTALL)
    assert found, f"{check.__name__} has no {heading}"
    return {**SOUND, **YAML(typ="safe").load(found[1])}


def findings_of(settings: dict[str, Any]) -> list[tuple[str, KeyFinding]]:
    return [(check_id(check), finding) for check in CHECKS for finding in check.check(settings)]


@pytest.mark.parametrize("check", CHECKS, ids=check_id)
def test_bad_gives_exactly_this_id(check: ModuleType) -> None:
    found = findings_of(keys_of(check, "Bad"))
    assert {name for name, _ in found} == {check_id(check)}, found
    for _, finding in found:
        assert finding.note
        assert finding.help


@pytest.mark.parametrize("check", CHECKS, ids=check_id)
def test_good_is_silent(check: ModuleType) -> None:
    assert findings_of(keys_of(check, "Good")) == []


def test_tuple_is_the_folder() -> None:
    folder = Path(CHECKS[0].__file__ or "").parent
    files = sorted(path.stem for path in folder.glob("orb*.py"))
    assert [check.__name__.rpartition(".")[2] for check in CHECKS] == files


def test_ids_are_unique_over_both_families() -> None:
    ids = [*map(rule_id, RULES), *map(check_id, CHECKS)]
    assert len(ids) == len(set(ids))


def test_findings_become_diagnostics_where_the_key_came_from() -> None:
    places = {"actor_rollout_ref.rollout.mode": Place("spec.yaml", 7)}
    settings = flatten({"actor_rollout_ref": {"rollout": {"mode": "sync"}}, "trainer": {"save_freq": 1}})
    found = [d for d in run_checks({**SOUND, **settings}, places.get) if d.id == "ORB619"]
    assert [(d.message, d.place, d.severity) for d in found] == [
        (
            title(CHECKS[[check_id(c) for c in CHECKS].index("ORB619")]),
            places["actor_rollout_ref.rollout.mode"],
            Severity.ERROR,
        )
    ]
