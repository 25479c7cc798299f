"""Plan to verl keys, each with its origin.

Switches come first, so that a section's own `enabled` may overrule them; then the rows of the tables, mappings of the
user's, the derived lowerings in their order, and `verl.overrides` last. What is optional is left out for a release
that lacks the key; everything else is written down, so that the check of keys can say what the release cannot do.

What a field says is text: a `${` in it means itself and is escaped here. The hatch holds verl's own values, and there
`${trainer.nnodes}` takes the value from another key, as on verl's command line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from orbiter_spec.lower.agent import AGENT, AGENT_MAPPED, AGENT_SWITCHES
from orbiter_spec.lower.algorithm import ALGORITHM, ALGORITHM_MAPPED, ALGORITHM_SWITCHES
from orbiter_spec.lower.derived import DERIVED, engine_group, has_reward_model
from orbiter_spec.lower.emit import Emit, leaves
from orbiter_spec.lower.hardware import HARDWARE, HARDWARE_MAPPED, HARDWARE_SWITCHES
from orbiter_spec.lower.interpolation import literal
from orbiter_spec.lower.rewards import REWARDS, REWARDS_MAPPED, REWARDS_SWITCHES
from orbiter_spec.lower.run import CRITIC_CHECKPOINT, RUN, RUN_MAPPED
from orbiter_spec.lower.setting import Mapped, Role, Setting, Switch
from orbiter_spec.lower.target import Target
from orbiter_spec.plan.hatch import heed_hatch
from orbiter_spec.plan.inherit import inherit_defaults
from orbiter_spec.plan.model import Plan

TABLE: tuple[Setting, ...] = (*AGENT, *ALGORITHM, *HARDWARE, *REWARDS, *RUN, *CRITIC_CHECKPOINT)
MAPPED: tuple[Mapped, ...] = (*AGENT_MAPPED, *ALGORITHM_MAPPED, *HARDWARE_MAPPED, *REWARDS_MAPPED, *RUN_MAPPED)
SWITCHES: tuple[Switch, ...] = (*AGENT_SWITCHES, *ALGORITHM_SWITCHES, *HARDWARE_SWITCHES, *REWARDS_SWITCHES)


HATCH = "verl.overrides"


@dataclass(frozen=True, slots=True)
class Lowered:
    """What the plan sets: the `model_engine` group, key to value, and key to the spec route answerable for it.

    `left_out` are the optional keys that the target lacks, with their routes; `hatched` the keys of `verl.overrides` as
    they are written, which may be sections.
    """

    engine: str
    settings: Mapping[str, Any]
    routes: Mapping[str, str]
    left_out: Mapping[str, str] = field(default_factory=dict)
    hatched: tuple[str, ...] = ()

    def route_to(self, key: str) -> str:
        """The spec route at which `key` is written; KeyError when the plan does not set it."""
        route = self.routes[key]
        if route != HATCH:
            return route
        written = next((name for name in self.hatched if f"{key}.".startswith(f"{name}.")), key)
        return f"{HATCH}[{json.dumps(written, ensure_ascii=False)}]"


def lower(plan: Plan, target: Target | None = None) -> Lowered:
    """Every verl key that `plan` has something to say about; without a `target` nothing is left out."""
    engine = engine_group(plan)
    settings: dict[str, Any] = {}
    routes: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for emit in _emits(plan, engine):
        if emit.optional and target is not None and not _takes(target, engine, emit.key):
            left_out[emit.key] = emit.route
            continue
        settings[emit.key] = emit.value if emit.route == HATCH else as_written(emit.value)
        routes[emit.key] = emit.route
    return Lowered(engine, settings, routes, left_out, tuple(plan.get(HATCH) or ()))


def as_written(value: Any) -> Any:
    """The same value where `${` in a text stands for itself."""
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, Mapping):
        return {key: as_written(item) for key, item in value.items()}
    return [as_written(item) for item in value] if isinstance(value, (list, tuple)) else value


def _takes(target: Target, engine: str, key: str) -> bool:
    return engine in target.engines and target.accepts(engine, key)


def names_of(plan: Plan) -> dict[str, str]:
    """The names that prefixes of mappings ask for."""
    rollout = str(plan.get("hardware.rollout.engine"))
    judge = str(plan.get("rewards.model.engine", rollout))
    return {"rollout": rollout, "judge": judge, "profiler": str(plan.get("run.profile.tool"))}


def _emits(plan: Plan, engine: str) -> Iterator[Emit]:
    sections = _sections(plan)
    for switch in SWITCHES:
        if switch.section in sections and is_on(switch.role, plan):
            for key in switch.keys_for(engine):
                yield Emit(key, True, switch.section)
    for row in TABLE:
        value = plan.get(row.field)
        if value is None or not is_on(row.role, plan) or _was_decided(plan, row.field, heed_hatch):
            continue
        for key in row.keys_for(engine):
            yield Emit(
                key, row.encode(value), row.field, row.optional or _was_decided(plan, row.field, inherit_defaults)
            )
    yield from _mapped(plan, engine)
    for derive in DERIVED:
        yield from derive(plan)


def _was_decided(plan: Plan, route: str, by: Callable[[Plan], Plan]) -> bool:
    """Whether a pass decided a value that is not the plan's own.

    What it inherits is verl's default, and may be left out where the release does not have the key; what the hatch says
    stands there.
    """
    decision = plan.decided.get(route)
    return decision is not None and decision.by == by.__name__


def _mapped(plan: Plan, engine: str) -> Iterator[Emit]:
    names = names_of(plan)
    for mapped in MAPPED:
        given = plan.get(mapped.field)
        prefix = mapped.prefix_for(engine, names)
        if not isinstance(given, Mapping) or prefix is None or not is_on(mapped.role, plan):
            continue
        for name, value in leaves(given):
            yield Emit(f"{prefix}.{name}", value, mapped.field)


def _sections(plan: Plan) -> set[str]:
    """Every section that somebody wrote or decided something in."""
    named = [*plan.given, *(route for route, decision in plan.decided.items() if decision.value is not None)]
    return {route[:end] for route in named for end in (*_dots(route), len(route))}


def _dots(route: str) -> Iterator[int]:
    return (index for index, character in enumerate(route) if character == ".")


def is_on(role: Role, plan: Plan) -> bool:
    """True when verl will build `role`."""
    if role is Role.REFERENCE:
        return plan.needs_reference
    if role is Role.CRITIC:
        return plan.needs_critic
    return has_reward_model(plan) if role is Role.REWARD_MODEL else True
