"""Plan to verl keys, each with its origin.

The rows of the tables run first, then the derived lowerings in their order, the user's own `verl.overrides` last. Keys
are then checked against the target's catalogue, so that nothing is written that the release does not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orbiter_spec.lower.agent import AGENT
from orbiter_spec.lower.algorithm import ALGORITHM
from orbiter_spec.lower.derived import DERIVED, Emit, engine_group
from orbiter_spec.lower.hardware import HARDWARE
from orbiter_spec.lower.run import CRITIC_CHECKPOINT, RUN
from orbiter_spec.lower.setting import Role, Setting
from orbiter_spec.plan.model import Plan

TABLE: tuple[Setting, ...] = (*AGENT, *ALGORITHM, *HARDWARE, *RUN, *CRITIC_CHECKPOINT)


@dataclass(frozen=True, slots=True)
class Lowered:
    """What the plan sets: the `model_engine` group, key to value, and key to the spec route answerable for it."""

    engine: str
    settings: Mapping[str, Any]
    routes: Mapping[str, str]


def lower(plan: Plan) -> Lowered:
    """Every verl key that `plan` has something to say about."""
    engine = engine_group(plan)
    settings: dict[str, Any] = {}
    routes: dict[str, str] = {}
    for emit in _emits(plan, engine):
        settings[emit.key] = emit.value
        routes[emit.key] = emit.route
    return Lowered(engine, settings, routes)


def _emits(plan: Plan, engine: str) -> Iterator[Emit]:
    for row in TABLE:
        value = plan.get(row.field)
        if value is None or not _is_on(row.role, plan):
            continue
        for key in row.keys_for(engine):
            yield Emit(key, row.encode(value), row.field)
    for derive in DERIVED:
        yield from derive(plan)


def _is_on(role: Role, plan: Plan) -> bool:
    return role is Role.ALWAYS or (plan.needs_reference if role is Role.REFERENCE else plan.needs_critic)
