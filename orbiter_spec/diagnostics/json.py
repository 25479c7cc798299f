"""A report for programs. The shape is stable: keys are added, never renamed or dropped, while `version` is 1.

    {"version": 1,
     "ok": false,                                   true when nothing is an error
     "counts": {"error": 1, "warning": 0, "note": 0},
     "diagnostics": [
       {"id": "ORB203", "severity": "error", "message": "...", "note": "...", "help": "...",
        "place": {"file": "specs/math.yaml", "line": 18, "column": 20, "width": 1, "text": "  tensor_parallel: 4"},
        "related": [{"place": {...}, "note": "..."}]}]}

`place` is null for a finding without one. Lines and columns count from one, in characters. Text is escaped to ASCII, so
that any terminal and any pipe can carry it.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from orbiter_spec.diagnostics.model import Diagnostic, Report, Severity

VERSION = 1


def render(report: Report) -> str:
    """The report as JSON, indented by two, without a line break at the end."""
    return json.dumps(describe(report), indent=2)


def describe(report: Report) -> dict[str, Any]:
    """The report as plain data in the shape above."""
    return {
        "version": VERSION,
        "ok": report.ok,
        "counts": {severity.value: report.count(severity) for severity in Severity},
        "diagnostics": [_describe_one(found) for found in report],
    }


def _describe_one(found: Diagnostic) -> dict[str, Any]:
    return {
        "id": found.id,
        "severity": found.severity.value,
        "message": found.message,
        "note": found.note,
        "help": found.help,
        "place": None if found.place is None else asdict(found.place),
        "related": [{"place": asdict(related.place), "note": related.note} for related in found.related],
    }
