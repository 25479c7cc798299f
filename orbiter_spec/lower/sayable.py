"""Settings that make no configuration: interpolations that lead nowhere, keys that no override can write.

They can come from `verl.overrides` and from mappings that go to verl as they are, so each is a finding with a place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from orbiter_spec.diagnostics import Diagnostic, Place
from orbiter_spec.lower.compose import ComposeError, compose
from orbiter_spec.lower.lowering import Lowered
from orbiter_spec.lower.minimal import unsayable
from orbiter_spec.lower.target import Target

PlaceOf = Callable[[str], Place]
INTERPOLATION = "take the value from another key, as ${trainer.nnodes} does, or from the environment with ${env:NAME}"


def compose_checked(
    target: Target, lowered: Lowered, place_of: PlaceOf
) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    """The configuration, or None and the reasons why there is none."""
    problems = list(_unsayable(lowered, place_of))
    if problems:
        return None, problems
    try:
        return compose(target, lowered.engine, lowered.settings), []
    except ComposeError as problem:
        return None, [_no_value(problem, lowered, place_of)]


def place_of_key(key: str, lowered: Lowered, place_of: PlaceOf) -> Place | None:
    """Where a verl key was written: its own setting, the section it was written in, or one below it."""
    near = [key, *(other for other in lowered.routes if key.startswith(f"{other}.") or other.startswith(f"{key}."))]
    found = next((other for other in near if other in lowered.routes), None)
    return None if found is None else place_of(lowered.route_to(found))


def _unsayable(lowered: Lowered, place_of: PlaceOf) -> Iterator[Diagnostic]:
    for key, value in lowered.settings.items():
        reason = unsayable(key, value)
        if reason is not None:
            place = place_of_key(key, lowered, place_of)
            yield Diagnostic("ORB649", "a name that no override can write", place, note=reason, help="rename the key")


def _no_value(problem: ComposeError, lowered: Lowered, place_of: PlaceOf) -> Diagnostic:
    engine = problem.key == "model_engine"
    return Diagnostic(
        "ORB648",
        f"{problem.key} has no value",
        place_of_key(problem.key, lowered, place_of),
        note=problem.message,
        help="write hardware.train.engine" if engine else INTERPOLATION,
    )
