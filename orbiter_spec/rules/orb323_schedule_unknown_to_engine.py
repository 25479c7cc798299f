"""learning-rate schedule that the engine does not have

## What it checks

`optimizer.schedule` is constant or cosine under FSDP; constant, cosine, linear or inverse-square-root under Megatron;
constant, cosine or linear under VeOmni; linear, sqrt or cosine under torchtitan. The same for the critic's.

## Why it matters

It is read when the optimiser is built, after the weights are loaded.

## Bad

```yaml
algorithm: {name: grpo, optimizer: {schedule: linear}}
```

## Good

```yaml
algorithm: {name: grpo, optimizer: {schedule: cosine}}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

KNOWN: Mapping[str, tuple[str, ...]] = {
    "fsdp": ("constant", "cosine"),
    "fsdp2": ("constant", "cosine"),
    "megatron": ("constant", "cosine", "linear", "inverse-square-root", "WSD"),
    "veomni": ("constant", "cosine", "linear"),
    "torchtitan": ("linear", "sqrt", "cosine"),
}


def check(plan: Plan) -> Iterator[Finding]:
    """Compare each schedule with the engine's."""
    engine = facts.train_engine(plan)
    routes = ["algorithm.optimizer.schedule"]
    if plan.needs_critic:
        routes.append("algorithm.critic.optimizer.schedule")
    for route in routes:
        name = plan.get(route)
        if name is None or name in KNOWN.get(engine, (name,)):
            continue
        yield Finding(
            route=route,
            note=f"{engine} has no {name}",
            help=f"use {', '.join(KNOWN[engine])}",
            related=(("hardware.train.engine", engine),),
        )
