"""What a rule yields: routes and words. One function here turns routes into places; rules never see a line number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

from orbiter_spec.diagnostics import Diagnostic, Place, Related, Severity


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of a rule.

    `route` is the spec field to change; `related` are the other fields that take part, each with a short note. `note`
    carries the numbers, `help` says what to type. Without a `message` the rule's title is used.
    """

    route: str
    note: str
    help: str
    message: str = ""
    related: tuple[tuple[str, str], ...] = ()
    severity: Severity = Severity.ERROR


def to_diagnostic(finding: Finding, rule_id: str, title: str, place_of: Callable[[str], Place]) -> Diagnostic:
    """The diagnostic for `finding`, its routes turned into places by `place_of`."""
    return Diagnostic(
        id=rule_id,
        message=finding.message or title,
        place=place_of(finding.route),
        note=finding.note,
        help=finding.help,
        severity=finding.severity,
        related=tuple(Related(place_of(route), note) for route, note in finding.related),
    )


def rule_id(rule: ModuleType) -> str:
    """`ORB201` for the module orb201_minibatch_splits_batch."""
    return rule.__name__.rpartition(".")[2].partition("_")[0].upper()


def title(rule: ModuleType) -> str:
    """The first line of the rule's page."""
    return (rule.__doc__ or "").strip().splitlines()[0]
