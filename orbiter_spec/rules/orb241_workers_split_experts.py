"""expert parallelism does not divide the model's experts

## What it checks

Under Megatron `expert_parallel` above 1 goes with a model that has experts, and divides them.

## Why it matters

Each rank holds as many experts as every other. Megatron asserts it while the model is built, and refuses the size for a
model without experts.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct}
hardware: {train: {engine: megatron, expert_parallel: 2}}
```

## Good

```yaml
agent: {model: Qwen/Qwen3-30B-A3B}
hardware: {train: {engine: megatron, expert_parallel: 8}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import divisors, nearest_fitting

ROUTE = "hardware.train.expert_parallel"


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the size with the experts."""
    size = int(plan.get(ROUTE) or 1)
    if facts.train_engine(plan) != "megatron" or plan.model is None or size == 1:
        return
    experts = plan.model.experts
    if experts and experts % size == 0:
        return
    usable = [value for value in divisors(experts or 1) if plan.gpus % value == 0]
    yield Finding(
        route=ROUTE,
        note=f"{experts} experts over {size} ranks" if experts else f"{size} ranks for a model without experts",
        help=f"use {nearest_fitting(usable, size)}",
        related=(("agent.model.path", f"{experts} experts"),),
    )
