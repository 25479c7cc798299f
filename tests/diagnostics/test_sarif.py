from __future__ import annotations

import json

from orbiter_spec.diagnostics import Diagnostic, Place, Report, Severity
from orbiter_spec.diagnostics.sarif import render
from tests.diagnostics.helpers import EMPTY, LINE, REPORT


def test_results_point_at_rules_and_regions() -> None:
    log = json.loads(render(REPORT))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    bare, warning, error = run["results"]
    assert "locations" not in bare
    assert error["level"] == "error"
    assert error["message"]["text"].splitlines()[-1] == "help: use 1, 2, 3 or 6, or give the pool 8 GPUs"
    assert error["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "specs/math.yaml"},
        "region": {"startLine": 18, "startColumn": 20, "endColumn": 21},
        "contextRegion": {"startLine": 18, "snippet": {"text": LINE}},
    }
    assert warning["level"] == "warning"
    (related,) = warning["relatedLocations"]
    assert related["physicalLocation"]["artifactLocation"]["uri"] == "base%2C%20x.yaml"
    assert related["message"]["text"] == "the rows: these"


def test_levels_and_addresses() -> None:
    found = Diagnostic("ORB090", "x", Place("/tmp/é.yaml"), severity=Severity.NOTE)
    (result,) = json.loads(render(Report.of([found])))["runs"][0]["results"]
    assert result["level"] == "note"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///tmp/%C3%A9.yaml"


def test_nothing_found_is_a_run_without_results() -> None:
    (run,) = json.loads(render(EMPTY))["runs"]
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])
