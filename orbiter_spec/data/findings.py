"""What a build has to say beside its rows: facts, kept with it, and findings made of them for the spec at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.data.request import DatasetRequest
from orbiter_spec.diagnostics import Diagnostic, Severity


def findings(request: DatasetRequest, facts: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """Warnings about rows that were built all the same."""
    overlap = facts.get("overlap")
    if overlap:
        yield from _overlap(request, overlap)


def _overlap(request: DatasetRequest, overlap: Mapping[str, Any]) -> Iterator[Diagnostic]:
    for kind, id, words in (
        ("exact", "ORB444", "are training rows too"),
        ("near", "ORB445", "are similar to training rows"),
    ):
        found = overlap.get(kind) or {}
        if found.get("rows"):
            total = overlap["validation_rows"]
            yield Diagnostic(
                id,
                f"{found['rows']} of {total} validation rows {words}",
                request.validation[0].place if request.validation else request.place,
                note=f"for example {found['examples'][0]}",
                help="validation then measures memory; add a deduplicate step, or take other validation rows",
                severity=Severity.WARNING,
            )
