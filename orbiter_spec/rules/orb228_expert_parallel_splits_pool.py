"""expert parallelism does not divide the GPUs

## What it checks

Under Megatron the GPUs are a multiple of expert tensor x expert x pipeline parallelism, where the expert tensor size
is the tensor size unless it is written.

## Why it matters

Megatron builds these groups when all workers are up and refuses a remainder.

## Bad

```yaml
hardware: {train: {engine: megatron, tensor_parallel: 4, expert_parallel: 4}}
```

## Good

```yaml
hardware: {train: {engine: megatron, tensor_parallel: 4, expert_parallel: 4, expert_tensor_parallel: 1}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import divisors, nearest_fitting


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the expert groups with the pool."""
    size = int(plan.get("hardware.train.expert_parallel") or 1)
    if facts.train_engine(plan) != "megatron" or size == 1:
        return
    tensor = int(plan.get("hardware.train.tensor_parallel") or 1)
    inner = int(plan.get("hardware.train.expert_tensor_parallel") or tensor)
    stages = int(plan.get("hardware.train.pipeline_parallel") or 1)
    if plan.gpus % (inner * size * stages) == 0:
        return
    usable = [value for value in divisors(plan.gpus) if plan.gpus % (inner * value * stages) == 0]
    advice = f"use {nearest_fitting(usable, size)}" if usable else "use smaller sizes"
    alone = plan.gpus % (size * stages) == 0 and inner > 1
    yield Finding(
        route="hardware.train.expert_parallel",
        note=f"{inner} x {size} x {stages} = {inner * size * stages} does not divide {plan.gpus} GPUs",
        help=advice + (", or expert_tensor_parallel: 1" if alone else ""),
        related=(("hardware.gpus_per_node", f"{plan.gpus} GPUs in all"),),
    )
