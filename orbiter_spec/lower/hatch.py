"""What the compiled settings ask of the target: keys and names that its catalogue has, and words instead of the hatch.

A key the release does not know is an error with the nearest known one, or with the first release that has it. A key of
the hatch that the language has a word for is a warning that names the word, because the planner and the rules do not
see what goes through the hatch; a value that the word refuses, such as null, may go through in silence. An optional key
that was left out is a note where the user wrote its field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Diagnostic, Place, Severity
from orbiter_spec.lower.lowering import HATCH, TABLE, Lowered
from orbiter_spec.lower.setting import ACTOR, ROLLOUT
from orbiter_spec.lower.target import TARGET_VERSIONS, Target, load_target
from orbiter_spec.plan.model import Plan

PlaceOf = Callable[[str], Place]

NAMED: Mapping[str, tuple[str, str]] = {
    "algorithm.adv_estimator": ("advantage_estimators", "advantage estimator"),
    f"{ACTOR}.policy_loss.loss_mode": ("policy_losses", "policy loss"),
    f"{ACTOR}.loss_agg_mode": ("loss_aggregations", "loss aggregation"),
    f"{ROLLOUT}.multi_turn.format": ("tool_formats", "tool format"),
    f"{ROLLOUT}.checkpoint_engine.backend": ("checkpoint_engines", "checkpoint engine"),
    "reward.reward_manager.name": ("reward_managers", "reward manager"),
    "trainer.logger": ("loggers", "logger"),
}
"""Keys whose values are names, the registry that holds them, and what to call one."""


def check_hatch(plan: Plan, target: Target, lowered: Lowered, place_of: PlaceOf) -> Iterator[Diagnostic]:
    """Findings about every key that a user wrote, and about keys and names of ours that the target does not have."""
    if lowered.engine not in target.engines:
        yield _engine_missing(target, lowered.engine, place_of)
        return
    words = {key: row.field for row in TABLE for key in row.keys_for(lowered.engine)}
    for key, route in lowered.routes.items():
        hatched = route == HATCH
        if not target.has(lowered.engine, key) and not target.accepts(lowered.engine, key):
            yield _unknown(key, target, lowered, place_of)
        elif hatched and (kind := other_kind(lowered.settings[key], target, lowered.engine, key)):
            yield odd_value(key, lowered.settings[key], kind, place_of(lowered.route_to(key)))
        elif hatched and key in words and not _needed(plan, words[key], lowered.settings[key]):
            yield Diagnostic(
                "ORB602",
                f"{key} has a word in the language",
                place_of(lowered.route_to(key)),
                help=f"write {words[key]} instead, so that the plan and the rules see it",
                severity=Severity.WARNING,
            )
    yield from _names(target, lowered, place_of)
    yield from _left_out(plan, target, lowered, place_of)


def _engine_missing(target: Target, engine: str, place_of: PlaceOf) -> Diagnostic:
    return Diagnostic(
        "ORB601",
        f"verl {target.version} has no training engine {engine}",
        place_of("hardware.train.engine"),
        help=f"use one of: {', '.join(target.engines)}",
    )


def other_kind(value: Any, target: Target, engine: str, key: str) -> str:
    """What verl has where another kind is written: a number, a switch, a list or a section; "" where it fits.

    A threshold is a number by default and may be two in one text, as in 0.5_2.0. Names and paths may be lists, and a
    list may be one item of it.
    """
    if value is None or (isinstance(value, str) and "${" in value) or not target.has(engine, key):
        return ""
    default = target.default(engine, key)
    if isinstance(default, dict):
        return "" if isinstance(value, dict) else "a section"
    if isinstance(value, str):
        number = isinstance(default, (int, float)) and "threshold" not in key
        return ("true or false" if isinstance(default, bool) else "a number") if number else ""
    if isinstance(value, (list, dict)) and isinstance(default, (int, float)):
        return "true or false" if isinstance(default, bool) else "a number"
    return "a list" if isinstance(value, (int, float)) and isinstance(default, list) else ""


def odd_value(key: str, value: Any, kind: str, place: Place | None) -> Diagnostic:
    """The finding that `value` stands where verl has `kind`, which is what `other_kind` says."""
    message = f"{key} is the {_kind_of(value)} {value!r}, and verl has {kind} there"
    return Diagnostic("ORB604", message, place, help=f"write {kind}")


def _kind_of(value: Any) -> str:
    return {str: "text", list: "list", dict: "mapping", bool: "switch"}.get(type(value), "number")


def _needed(plan: Plan, field: str, value: Any) -> bool:
    """True where the word cannot say it: null, or a value beside the one that the word already gives."""
    return value is None or field in plan.given


def _unknown(key: str, target: Target, lowered: Lowered, place_of: PlaceOf) -> Diagnostic:
    route, hatched = lowered.routes[key], lowered.routes[key] == HATCH
    close = target.nearest(lowered.engine, key)
    first = first_release_with(lowered.engine, key)
    note = f"verl {first} is the first release that has it" if first else ""
    if hatched and close and not note:
        note = f"did you mean {close}?"
    return Diagnostic(
        "ORB601",
        f"verl {target.version} has no key {key}",
        place_of(lowered.route_to(key)),
        note=note,
        help=f"write {close}" if close and hatched else f"leave {route} out for this target, or choose another",
    )


def _names(target: Target, lowered: Lowered, place_of: PlaceOf) -> Iterator[Diagnostic]:
    """Names that another release knows and this one does not; what no release knows is the business of other checks."""
    for key, (registry, what) in NAMED.items():
        given = lowered.settings.get(key)
        for name in given if isinstance(given, list) else [given]:
            first = None if name in target.registry(registry) else _first_with_name(registry, name)
            if first is not None:
                yield Diagnostic(
                    "ORB646",
                    f"verl {target.version} has no {what} {name}",
                    place_of(lowered.route_to(key)),
                    note=f"verl {first} is the first release that has it",
                    help=f"use one of: {', '.join(target.registry(registry))}",
                )


def _left_out(plan: Plan, target: Target, lowered: Lowered, place_of: PlaceOf) -> Iterator[Diagnostic]:
    fields = {row.field for row in TABLE}
    for key, route in lowered.left_out.items():
        if route in plan.given and route in fields:
            first = first_release_with(lowered.engine, key)
            yield Diagnostic(
                "ORB647",
                f"verl {target.version} has no key {key}, so {route} does the rest of its work only",
                place_of(route),
                note=f"verl {first} is the first release that has it",
                severity=Severity.NOTE,
            )


def first_release_with(engine: str, key: str) -> str | None:
    """The oldest target that takes `key`."""
    for version in TARGET_VERSIONS:
        release = load_target(version)
        if engine in release.engines and release.accepts(engine, key):
            return version
    return None


def _first_with_name(registry: str, name: Any) -> str | None:
    return next((version for version in TARGET_VERSIONS if name in load_target(version).registry(registry)), None)
