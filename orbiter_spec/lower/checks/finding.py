"""What a check of the lowered configuration yields: keys and words. The compiler turns keys into places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orbiter_spec.diagnostics import Diagnostic, Place, Related, Severity


@dataclass(frozen=True, slots=True)
class KeyFinding:
    """One finding about `key` of the resolved configuration.

    `note` carries the numbers, `help` says what to set. `related` are other keys that take part, each with a note.
    Without a `message` the check's title is used.
    """

    key: str
    note: str
    help: str
    message: str = ""
    related: tuple[tuple[str, str], ...] = ()
    severity: Severity = Severity.ERROR


def to_diagnostic(
    finding: KeyFinding, check_id: str, title: str, place_of: Callable[[str], Place | None]
) -> Diagnostic:
    """The diagnostic for `finding`; related keys that nobody wrote have no place and are left out."""
    related = [(place_of(key), note) for key, note in finding.related]
    return Diagnostic(
        id=check_id,
        message=finding.message or title,
        place=place_of(finding.key),
        note=finding.note,
        help=finding.help,
        severity=finding.severity,
        related=tuple(Related(place, note) for place, note in related if place is not None),
    )
