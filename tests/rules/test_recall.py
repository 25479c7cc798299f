"""Known failures are found early, at the right place, by the right id; or a reason stands why they cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.rules.conftest import findings_of, plan_of
from tests.rules.recall_cases import KEYS, LATE, SHAPE, SPECS
from tests.rules.test_check_pages import SOUND
from tests.rules.test_check_pages import findings_of as key_findings_of

CATALOGUE = Path(__file__).resolve().parents[3] / "shared" / "failure-modes" / "failures.json"


@pytest.mark.parametrize("entry", sorted(SPECS))
def test_spec_is_found(entry: str, tmp_path: Path) -> None:
    snippet, expected = SPECS[entry]
    found = [f"{name}@{finding.route}" for name, finding in findings_of(plan_of(snippet, tmp_path))]
    assert expected in found


@pytest.mark.parametrize("entry", sorted(KEYS))
def test_configuration_is_found(entry: str) -> None:
    keys, expected = KEYS[entry]
    found = [f"{name}@{finding.key}" for name, finding in key_findings_of({**SOUND, **keys})]
    assert expected in found


@pytest.mark.parametrize("entry", sorted(SHAPE))
def test_shape_is_refused(entry: str) -> None:
    with pytest.raises(ValidationError):
        plan_of(SHAPE[entry])


def test_every_entry_of_the_catalogue_has_an_answer() -> None:
    if not CATALOGUE.is_file():
        pytest.skip("the catalogue is not part of the project")
    entries: list[dict[str, Any]] = json.loads(CATALOGUE.read_text(encoding="utf-8"))
    answered = {*SPECS, *KEYS, *SHAPE, *LATE}
    assert {entry["id"] for entry in entries} <= answered


def test_no_case_is_also_excused() -> None:
    assert not {*SPECS, *KEYS, *SHAPE} & set(LATE)
