"""What the rules say about an imported spec, and the comments by which it compiles all the same.

An import keeps what the run did, also what a rule calls an error: it stands in the spec with an `orbiter: ignore`
comment at its line, so that compiling gives the run's configuration and a person sees where to look.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from orbiter_spec.diagnostics import Diagnostic, Place, Severity
from orbiter_spec.importing.imported import Imported

if TYPE_CHECKING:
    from orbiter_spec.lower.target import Target

REASON = "as in the run; look here"


def refused(imported: Imported, text: str, name: str, target: Target) -> list[Diagnostic]:
    """What verl refuses of the run as it is written, at the lines of `text`, which was imported; as warnings.

    A value of another kind than verl's is told as such, and no check counts with it.
    """
    from orbiter_spec.importing.reading import Text
    from orbiter_spec.lower.checks import run_checks
    from orbiter_spec.lower.hatch import odd_value, other_kind

    source = Text(text, name)

    def place(key: str) -> Place | None:
        line = imported.lines.get(key)
        return None if line is None else source.place(line, key)

    kinds = {key: other_kind(value, target, imported.engine, key) for key, value in imported.original.items()}
    usable = {key: value for key, value in imported.original.items() if not kinds[key]}
    found = [
        odd_value(key, imported.original[key], kind, place(key))
        for key, kind in kinds.items()
        if kind and key in imported.lines
    ]
    found += run_checks(usable, place)
    return [replace(finding, severity=Severity.WARNING) for finding in found if finding.severity is Severity.ERROR]


def review(text: str) -> tuple[str, list[Diagnostic]]:
    """`text` with a comment behind every line that a rule refuses, and those findings as warnings."""
    from orbiter_spec.importing.candidate import paths_of
    from orbiter_spec.plan import make_plan
    from orbiter_spec.rules import run_rules
    from orbiter_spec.source import parse_route, read
    from orbiter_spec.spec import bind

    document, problems = read(None, text=text, environ={})
    experiment = bind(document)[0] if document is not None and not problems else None
    if document is None or experiment is None:
        return text, problems
    written = document

    def place(route: str, *, key: bool = False) -> Place:
        return written.place(parse_route(route), key=key)

    found = run_rules(make_plan(experiment, paths=paths_of(experiment)), place)
    errors = [finding for finding in found if finding.severity is Severity.ERROR]
    lines = text.split("\n")
    refused: dict[int, list[str]] = {}
    for finding in errors:
        if finding.place is not None:
            refused.setdefault(finding.place.line, []).append(finding.id)
    for line, ids in refused.items():
        comment = f"# orbiter: ignore[{', '.join(sorted(set(ids)))}] {REASON}"
        content, _, old = lines[line - 1].partition("  # ")
        lines[line - 1] = f"{content}  {comment}" + (f" ({old})" if old else "")
    return "\n".join(lines), [replace(finding, severity=Severity.WARNING) for finding in errors]
