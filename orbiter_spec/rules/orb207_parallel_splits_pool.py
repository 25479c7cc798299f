"""training parallelism does not divide its GPUs

## What it checks

The GPUs that share one sequence (sequence parallel under FSDP and VeOmni; tensor x pipeline x context parallel under
Megatron and torchtitan) divide the training GPUs, for the actor, the reference and the critic.

## Why it matters

verl finds it out when every worker is up and the device mesh is built; with passes filled by tokens its early check
is skipped.

## Bad

```yaml
hardware: {train: {engine: megatron, tensor_parallel: 3}}
```

## Good

```yaml
hardware: {train: {engine: megatron, tensor_parallel: 4}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import divisors, nearest_fitting

SEQUENCE = ("sequence",)
MODEL = ("tensor", "pipeline", "context")


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the shared GPUs of each role with the pool."""
    seen: set[tuple[int, str]] = set()
    for role in facts.roles(plan):
        shared = facts.shape(plan, role).shared
        route = _largest(plan, role)
        written = route in plan.given or role == "train"
        if facts.shape(plan, role).divides or not written or (shared, route) in seen:
            continue
        seen.add((shared, route))
        size = int(plan.get(route))
        others = shared // size
        usable = [value for value in divisors(plan.gpus) if plan.gpus % (value * others) == 0]
        yield Finding(
            route=route,
            note=f"{shared} GPUs for one sequence do not divide {plan.gpus}",
            help=f"use {nearest_fitting(usable, size)}" if usable else f"use sizes whose product divides {plan.gpus}",
            related=(("hardware.gpus_per_node", f"{plan.gpus} GPUs in all"),),
        )


def _largest(plan: Plan, role: str) -> str:
    """The route of the largest size that takes part."""
    words = SEQUENCE if facts.train_engine(plan) in facts.SEQUENCE_ENGINES else MODEL
    routes = [f"hardware.{role}.{word}_parallel" for word in words]
    return max(routes, key=lambda route: int(plan.get(route) or 1))
