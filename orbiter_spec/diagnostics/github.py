"""A report as GitHub workflow commands: each finding becomes an annotation on its line.

A command is one line. What would end it or one of its properties is escaped as the runner expects.
"""

from __future__ import annotations

from orbiter_spec.diagnostics.model import Diagnostic, Report, Severity

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: Report) -> str:
    """One command a finding, joined by line breaks; an empty report is the empty string."""
    return "\n".join(_command(found) for found in report)


def _command(found: Diagnostic) -> str:
    properties: dict[str, str | int] = {}
    if found.place is not None:
        place = found.place
        properties |= {"file": place.file, "line": place.line, "endLine": place.line}
        properties |= {"col": place.column, "endColumn": place.column + place.width}
    properties["title"] = f"{found.id} {found.message}"
    shown = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{_COMMANDS[found.severity]} {shown}::{_data(_body(found))}"


def _body(found: Diagnostic) -> str:
    lines = [found.message, found.note, f"help: {found.help}" if found.help else ""]
    for related in found.related:
        lines.append(f"{related.place.file}:{related.place.line}:{related.place.column}: {related.note}")
    return "\n".join(line for line in lines if line)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
