"""What the hatch says of fields by verl's older keys for them.

The plan takes no notice of `verl.overrides`: what it holds has no field. An older key of verl's that verl still copies
to its present one is different, since a field does mean it. The plan counts with its value, and the lowering leaves it
to the hatch, so that what is composed stays what was written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.plan.decide import decide
from orbiter_spec.plan.model import Plan

TRAIN, REFERENCE = "hardware.train.sequence_parallel", "hardware.reference.sequence_parallel"
OLDER_KEYS: dict[str, tuple[str, ...]] = {
    "actor_rollout_ref.ref.ulysses_sequence_parallel_size": (REFERENCE,),
    "actor_rollout_ref.actor.ulysses_sequence_parallel_size": (TRAIN, REFERENCE),
}
"""Key and the fields that it decides, the reference's own first: what verl copies to `fsdp_config` when it is above 1
(`FSDPActorConfig.__post_init__`); the reference's follows the actor's."""
FSDP = ("fsdp", "fsdp2")


def heed_hatch(plan: Plan) -> Plan:
    """Count with what the hatch says by an older key."""
    if plan.get("hardware.train.engine", "fsdp2") not in FSDP:
        return plan
    written = dict(_leaves(plan.get("verl.overrides") or {}))
    for key, routes in OLDER_KEYS.items():
        size = written.get(key)
        if isinstance(size, int) and not isinstance(size, bool) and size > 1:
            plan = decide(plan, heed_hatch.__name__, {route: (size, f"verl.overrides has {key}") for route in routes})
    return plan


def written_at(plan: Plan, route: str) -> str:
    """The route at which a value is written: that of the override where an older key decided it, else `route`."""
    decision = plan.decided.get(route)
    if decision is None or decision.by != heed_hatch.__name__:
        return route
    overrides = plan.get("verl.overrides")
    keys = [key for key in dict(_leaves(overrides)) if route in OLDER_KEYS.get(key, ())]
    names = (name for name in overrides for key in keys if f"{key}.".startswith(f"{name.lstrip('+')}."))
    return f"verl.overrides[{json.dumps(next(names), ensure_ascii=False)}]"


def _leaves(section: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in section.items():
        key = f"{prefix}{name.lstrip('+')}"
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{key}.")
        else:
            yield key, value
