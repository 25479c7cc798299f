"""The hatch: `verl.overrides` checked against the target's catalogue and against the language.

A key the release does not know is an error with the nearest known one. A key the language has a word for is a warning
that names the word, because the planner and the rules do not see what goes through the hatch; a value that the word
refuses, such as null, may go through in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from orbiter_spec.diagnostics import Diagnostic, Place, Severity
from orbiter_spec.lower.lowering import TABLE, Lowered
from orbiter_spec.lower.target import TARGET_VERSIONS, Target, load_target
from orbiter_spec.plan.model import Plan


def check_hatch(plan: Plan, target: Target, lowered: Lowered, place_of: Callable[[str], Place]) -> Iterator[Diagnostic]:
    """Findings about every key that a user wrote, and about keys of ours that the target does not have."""
    words = {key: row.field for row in TABLE for key in row.keys_for(lowered.engine)}
    for key, route in lowered.routes.items():
        hatched = route == "verl.overrides"
        if not target.has(lowered.engine, key) and not target.accepts(lowered.engine, key):
            yield _unknown(key, route, hatched, target, lowered.engine, place_of)
        elif hatched and key in words and not _needed(plan, words[key], lowered.settings[key]):
            yield Diagnostic(
                "ORB602",
                f"{key} has a word in the language",
                place_of(f'verl.overrides["{key}"]'),
                help=f"write {words[key]} instead, so that the plan and the rules see it",
                severity=Severity.WARNING,
            )


def _needed(plan: Plan, field: str, value: Any) -> bool:
    """True where the word cannot say it: null, or a value beside the one that the word already gives."""
    return value is None or field in plan.given


def _unknown(
    key: str, route: str, hatched: bool, target: Target, engine: str, place_of: Callable[[str], Place]
) -> Diagnostic:
    close = target.nearest(engine, key)
    where = f'verl.overrides["{key}"]' if hatched else route
    first = first_release_with(engine, key)
    note = f"verl {first} is the first release that has it" if first else ""
    if hatched and close and not note:
        note = f"did you mean {close}?"
    return Diagnostic(
        "ORB601",
        f"verl {target.version} has no key {key}",
        place_of(where),
        note=note,
        help=f"write {close}" if close and hatched else f"leave {route} out for this target, or choose another",
    )


def first_release_with(engine: str, key: str) -> str | None:
    """The oldest target that takes `key`."""
    for version in TARGET_VERSIONS:
        release = load_target(version)
        if engine in release.engines and release.accepts(engine, key):
            return version
    return None
