"""A report as SARIF 2.1.0, which code hosts and editors show beside the lines."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import quote

from orbiter_spec import __version__
from orbiter_spec.diagnostics.model import Diagnostic, Place, Report

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(report: Report) -> str:
    """The report as one SARIF log with one run, without a line break at the end."""
    ids = sorted({found.id for found in report})
    run = {
        "tool": {"driver": {"name": "orbiter-spec", "version": __version__, "rules": [{"id": id} for id in ids]}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(found, ids.index(found.id)) for found in report],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _result(found: Diagnostic, rule: int) -> dict[str, Any]:
    lines = (found.message, found.note, f"help: {found.help}" if found.help else "")
    result: dict[str, Any] = {
        "ruleId": found.id,
        "ruleIndex": rule,
        "level": found.severity.value,
        "message": {"text": "\n".join(line for line in lines if line)},
    }
    if found.place is not None:
        result["locations"] = [{"physicalLocation": _location(found.place)}]
    if found.related:
        result["relatedLocations"] = [
            {"id": index, "physicalLocation": _location(related.place), "message": {"text": related.note}}
            for index, related in enumerate(found.related)
        ]
    return result


def _location(place: Place) -> dict[str, Any]:
    region = {
        "startLine": place.line,
        "startColumn": place.column,
        "endColumn": place.column + place.width,
    }
    location: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.file)}, "region": region}
    if place.text:
        location["contextRegion"] = {"startLine": place.line, "snippet": {"text": place.text}}
    return location


def _uri(file: str) -> str:
    """A relative reference for a relative path, a file URI for an absolute one."""
    path = quote(file.replace(os.sep, "/"), safe="/")
    return f"file://{path}" if path.startswith("/") else path
