"""precision that the engine does not have

## What it checks

Under Megatron `dtype` is bfloat16 or float16.

## Why it matters

verl asserts it when workers are configured.

## Bad

```yaml
hardware: {train: {engine: megatron, dtype: float32}}
```

## Good

```yaml
hardware: {train: {engine: megatron, dtype: bfloat16}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look at each role's precision."""
    if facts.train_engine(plan) != "megatron":
        return
    for role in facts.roles(plan):
        route = f"hardware.{role}.dtype"
        if plan.get(route) == "float32" and (role == "train" or route in plan.given):
            yield Finding(
                route=route,
                note="Megatron computes in bfloat16 or float16",
                help="use bfloat16",
                related=(("hardware.train.engine", "megatron"),),
            )
