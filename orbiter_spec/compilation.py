"""What is known of a spec as the phases of `compiler.py` go over it, and what is asked of that from outside."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orbiter_spec.diagnostics import Diagnostic, Place, Report, Severity
from orbiter_spec.source import Document, parse_route

if TYPE_CHECKING:
    from orbiter_spec.data.inputs import Inputs
    from orbiter_spec.data.rows import RowPlan, Rows
    from orbiter_spec.lower.lowering import Lowered
    from orbiter_spec.lower.target import Target
    from orbiter_spec.plan.model import Plan
    from orbiter_spec.spec.experiment import Experiment


class SpecError(ValueError):
    """A spec that cannot be used; `report` holds every finding."""

    def __init__(self, report: Report) -> None:
        from orbiter_spec.diagnostics.text import render

        super().__init__(render(report))
        self.report = report


@dataclass
class Compilation:
    """What the phases have made so far; a field is None until its phase has run without an error in its way."""

    spec: str
    sets: Sequence[str] = ()
    target_version: str | None = None
    findings: list[Diagnostic] = field(default_factory=list)
    document: Document | None = None
    experiment: Experiment | None = None
    inputs: Inputs | None = None
    rows: RowPlan | None = None
    plan: Plan | None = None
    target: Target | None = None
    lowered: Lowered | None = None
    config: dict[str, Any] | None = None
    building: Rows = "look"

    @property
    def report(self) -> Report:
        """All findings so far, in order."""
        return Report.of(self.findings)

    @property
    def summary(self) -> str:
        """A few words about a valid spec."""
        batches = self.plan.batches if self.plan else None
        if batches is None:
            return ""
        steps = f", {batches.total_steps} steps" if batches.total_steps is not None else ""
        return f" ({batches.prompts} prompts x {batches.samples_per_prompt} samples a step{steps})"

    def place(self, route: str, *, key: bool = False) -> Place:
        """The place of a spec route, wherever the user wrote it."""
        assert self.document is not None, "places exist once a document has been read"
        return self.document.place(parse_route(route), key=key)


def apply_ignores(state: Compilation) -> list[Diagnostic]:
    """The findings that no `# orbiter: ignore[...]` comment silences, and a note that counts the others."""
    if state.document is None:
        return state.findings
    silenced = {(ignore.place.file, ignore.line, name) for ignore in state.document.ignores() for name in ignore.ids}
    kept = [found for found in state.findings if not _is_silenced(found, silenced)]
    hidden = len(state.findings) - len(kept)
    if hidden:
        noun = "finding" if hidden == 1 else "findings"
        kept.append(Diagnostic("ORB090", f"{hidden} {noun} ignored by comments", severity=Severity.NOTE))
    return kept


def _is_silenced(found: Diagnostic, silenced: set[tuple[str, int, str]]) -> bool:
    if found.place is None or found.id.startswith("ORB0"):
        return False
    return (found.place.file, found.place.line, found.id) in silenced


def output_root(state: Compilation) -> Path:
    """`run.output`, relative to the spec that says it or else to the spec itself."""
    assert state.plan is not None and state.document is not None
    return (state.document.base(("run", "output")) / Path(str(state.plan.get("run.output"))).expanduser()).resolve()


def origin_place(state: Compilation, route: str) -> dict[str, Any]:
    """File, line and column of `route` for origins.json; the file is relative to the spec's folder."""
    place = state.place(route)
    home = Path(state.spec).resolve().parent if state.spec != "-" else Path.cwd()
    shown = place.file if place.file.startswith(("-", "<")) else os.path.relpath(Path(place.file).resolve(), home)
    return {"file": Path(shown).as_posix(), "line": place.line, "column": place.column}
