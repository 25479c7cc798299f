"""shard size does not divide the workers

## What it checks

Under FSDP `shard_size`, where it is neither -1 nor at least the number of GPUs, divides the GPUs; under VeOmni it
divides the data-parallel workers.

## Why it matters

The device mesh is built from whole groups; torch refuses a remainder after all workers have started.

## Bad

```yaml
hardware: {train: {shard_size: 3}}
```

## Good

```yaml
hardware: {train: {shard_size: 4}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import nearest_divisors


def check(plan: Plan) -> Iterator[Finding]:
    """Compare shard sizes with the workers they split."""
    engine = facts.train_engine(plan)
    if engine not in facts.SEQUENCE_ENGINES:
        return
    for role in facts.roles(plan):
        route = f"hardware.{role}.shard_size"
        size = plan.get(route)
        workers = facts.shape(plan, role).data_parallel if engine == "veomni" else plan.gpus
        if size is None or size < 0 or size >= workers or (route not in plan.given):
            continue
        if size == 0 or workers % size:
            yield Finding(
                route=route,
                note=f"{workers} workers are not a multiple of {size}",
                help=f"use {nearest_divisors(workers, size)}, or -1 for all",
                related=(("hardware.gpus_per_node", f"{plan.gpus} GPUs in all"),),
            )
