"""inference engine keeps its memory while training

## What it checks

A colocated rollout releases its cache (`free_cache`) before training, and `memory_fraction` leaves room for the
training state and for the engine itself: above 0 and not above 0.95.

## Why it matters

Training and generation share the GPU. Memory that is kept is missing in the update, and the run dies of it in the
first or second step, not at start.

## Bad

```yaml
hardware: {rollout: {free_cache: false, memory_fraction: 0.6}}
```

## Good

```yaml
hardware: {rollout: {free_cache: true, memory_fraction: 0.6}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

MOST = 0.95


def check(plan: Plan) -> Iterator[Finding]:
    """Look at the share and at whether it is given back."""
    route = "hardware.rollout.memory_fraction"
    share = plan.get(route)
    if plan.on_cpu or share is None:
        return
    if share == 0:
        yield Finding(route=route, note="no memory for weights and cache", help="use a value between 0.3 and 0.9")
    elif share > MOST:
        yield Finding(
            route=route,
            note=f"{share} leaves {1 - share:.0%} for CUDA and the sampler",
            help="use 0.9 or less",
            severity=Severity.WARNING,
        )
    if plan.get("hardware.rollout.free_cache") is False and not facts.separate(plan):
        yield Finding(
            route="hardware.rollout.free_cache",
            note=f"{share:.0%} of each GPU stays with the engine during the update",
            help="leave it out, or use placement: separate",
            related=((route, f"{share:.0%} of each GPU"),),
            severity=Severity.WARNING,
        )
