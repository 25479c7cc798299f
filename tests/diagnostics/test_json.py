from __future__ import annotations

import json

from orbiter_spec.diagnostics.json import render
from tests.diagnostics.helpers import EMPTY, LINE, REPORT


def test_shape() -> None:
    found = json.loads(render(REPORT))
    assert list(found) == ["version", "ok", "counts", "diagnostics"]
    assert (found["version"], found["ok"]) == (1, False)
    assert found["counts"] == {"error": 2, "warning": 1, "note": 0}
    assert [problem["id"] for problem in found["diagnostics"]] == ["ORB501", "ORB224", "ORB203"]
    assert found["diagnostics"][2] == {
        "id": "ORB203",
        "severity": "error",
        "message": "rollout tensor parallelism does not divide its pool",
        "note": "6 is not a multiple of 4",
        "help": "use 1, 2, 3 or 6, or give the pool 8 GPUs",
        "place": {"file": "specs/math.yaml", "line": 18, "column": 20, "width": 1, "text": LINE},
        "related": [],
    }
    assert found["diagnostics"][0]["place"] is None
    related = found["diagnostics"][1]["related"]
    place = {"file": "base, x.yaml", "line": 112, "column": 1, "width": 4, "text": "rows: 10"}
    assert related == [{"place": place, "note": "the rows: these"}]


def test_nothing_found() -> None:
    counts = {"error": 0, "warning": 0, "note": 0}
    assert json.loads(render(EMPTY)) == {"version": 1, "ok": True, "counts": counts, "diagnostics": []}


def test_any_terminal_can_carry_it() -> None:
    assert render(REPORT).isascii()
