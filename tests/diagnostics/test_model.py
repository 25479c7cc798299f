from __future__ import annotations

import sys

import pytest

from orbiter_spec.diagnostics import Diagnostic, Place, Report, Severity, nearest


def test_report_is_sorted_and_free_of_duplicates() -> None:
    one = Diagnostic("ORB002", "x", Place("a", 2, 1))
    two = Diagnostic("ORB001", "x", Place("a", 10, 1))
    report = Report.of([two, one, two, one])
    assert list(report) == [one, two]
    assert Report.of(reversed(list(report))) == report


@pytest.mark.parametrize(("severity", "ok"), [(Severity.ERROR, False), (Severity.WARNING, True), (Severity.NOTE, True)])
def test_only_errors_count_against_it(severity: Severity, ok: bool) -> None:
    assert Report.of([Diagnostic("ORB001", "x", severity=severity)]).ok is ok


def test_nearest_is_near_or_nothing() -> None:
    assert nearest("learing_rate", ["learning_rate", "epochs"]) == "learning_rate"
    assert nearest("zzz", ["learning_rate"]) is None


def test_renderer_called_json_leaves_the_standard_library_alone() -> None:
    from orbiter_spec.diagnostics import json as ours

    assert ours.json is sys.modules["json"]
    assert "diagnostics" not in str(ours.json.__file__)
