"""torchtitan's sizes do not multiply to the GPUs

## What it checks

Under torchtitan, `shard_size` x `replicate` x tensor x pipeline x context parallelism is the number of training GPUs;
each is 1 when it is left out.

## Why it matters

torchtitan compares the product with the workers when they are up. It would take -1 for the rest, but verl computes
the data-parallel size from the number as it is written.

## Bad

```yaml
hardware: {train: {engine: torchtitan, tensor_parallel: 2}}
```

## Good

```yaml
hardware: {train: {engine: torchtitan, tensor_parallel: 2, shard_size: 4}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Multiply the sizes."""
    shape = facts.shape(plan)
    if facts.train_engine(plan) != "torchtitan" or not shape.divides:
        return
    shard, copies = plan.get("hardware.train.shard_size"), int(plan.get("hardware.train.replicate") or 1)
    product = int(shard or 1) * copies * shape.shared
    if product == plan.gpus:
        return
    left, rest = divmod(plan.gpus, copies * shape.shared)
    yield Finding(
        route="hardware.train.shard_size",
        note=f"{shard or 1} x {copies} x {shape.shared} = {product}, and there are {plan.gpus} GPUs",
        help=f"use {left}" if rest == 0 else "use sizes whose product is the number of GPUs",
        related=(("hardware.gpus_per_node", f"{plan.gpus} GPUs in all"),),
    )
