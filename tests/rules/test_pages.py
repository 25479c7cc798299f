"""A rule's docstring is its page: Bad gives exactly this id, Good gives silence; notes of other rules do not count."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from orbiter_spec.diagnostics import Severity
from orbiter_spec.rules import RULES, rule_id, title
from orbiter_spec.spec.fields import fields
from tests.rules.conftest import MINIMAL, findings_of, plan_of

HEADINGS = ["What it checks", "Why it matters", "Bad", "Good"]


def snippet(rule: ModuleType, heading: str) -> str:
    found = re.search(rf"^## {heading}\n\n```yaml\n(.*?)^```$", rule.__doc__ or "", re.MULTILINE | re.DOTALL)
    assert found, f"{rule.__name__} has no {heading}"
    return found[1]


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_bad_gives_exactly_this_id(rule: ModuleType, tmp_path: Path) -> None:
    found = findings_of(plan_of(snippet(rule, "Bad"), tmp_path))
    own = {name for name, finding in found if finding.severity is not Severity.NOTE or name == rule_id(rule)}
    assert own == {rule_id(rule)}, found


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_good_is_silent(rule: ModuleType, tmp_path: Path) -> None:
    found = findings_of(plan_of(snippet(rule, "Good"), tmp_path))
    loud = [(n, f) for n, f in found if f.severity is not Severity.NOTE or n == rule_id(rule)]
    assert loud == []


def test_minimal_spec_is_silent() -> None:
    assert findings_of(plan_of(MINIMAL)) == []


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_findings_say_what_to_do(rule: ModuleType, tmp_path: Path) -> None:
    known = fields()
    for name, finding in findings_of(plan_of(snippet(rule, "Bad"), tmp_path)):
        if name != rule_id(rule):
            continue
        assert finding.note
        assert finding.help
        assert "\n" not in finding.note + finding.help
        for route, note in ((finding.route, "x"), *finding.related):
            assert route in known, route
            assert note


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_page_has_its_parts(rule: ModuleType) -> None:
    assert re.findall(r"^## (.+)$", rule.__doc__ or "", re.MULTILINE) == HEADINGS
    assert len(title(rule)) <= 80
    assert not title(rule).endswith(".")


def test_tuple_is_the_folder() -> None:
    folder = Path(RULES[0].__file__ or "").parent
    files = sorted(path.stem for path in folder.glob("orb*.py"))
    assert [rule.__name__.rpartition(".")[2] for rule in RULES] == files


def test_ids_are_unique() -> None:
    ids = [rule_id(rule) for rule in RULES]
    assert len(ids) == len(set(ids))


def test_slugs_read_well_after_allow() -> None:
    for rule in RULES:
        slug = rule.__name__.rpartition(".")[2].partition("_")[2]
        assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)+", slug), slug
        assert not {"check", "must", "should", "rule"} & set(slug.split("_")), slug


def test_rules_name_no_key_of_the_target() -> None:
    for rule in RULES:
        source = Path(rule.__file__ or "").read_text(encoding="utf-8")
        assert not re.search(r"actor_rollout_ref\.|trainer\.v1|algorithm\.adv_estimator", source), rule.__name__
