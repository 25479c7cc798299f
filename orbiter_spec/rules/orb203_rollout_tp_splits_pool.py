"""inference engine does not divide its GPUs

## What it checks

The GPUs of one inference replica (tensor x data x pipeline parallel) divide the training GPUs, on which the replicas
are colocated. With a separate placement this holds as well, since verl keeps replicas on the training GPUs too.

## Why it matters

verl checks it only after the actor's weights are loaded, minutes into the run.

## Bad

```yaml
hardware: {gpus_per_node: 6, rollout: {tensor_parallel: 4}}
algorithm: {batch: {prompts: 24}}
```

## Good

```yaml
hardware: {gpus_per_node: 6, rollout: {tensor_parallel: 3}}
algorithm: {batch: {prompts: 24}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import nearest_fitting


def check(plan: Plan) -> Iterator[Finding]:
    """Compare one replica's GPUs with the training pool."""
    replica = facts.replica_gpus(plan)
    if plan.gpus % replica == 0:
        return
    tensor = facts.number(plan, "hardware.rollout.tensor_parallel")
    others = replica // tensor
    usable = [size for size in range(1, plan.gpus + 1) if plan.gpus % (size * others) == 0]
    word = "tensor" if usable else "data"
    advice = f"use {nearest_fitting(usable, tensor)}" if usable else f"use at most {plan.gpus} GPUs for a replica"
    yield Finding(
        route=f"hardware.rollout.{word}_parallel",
        note=f"a replica of {replica} GPUs does not divide {plan.gpus}",
        help=advice,
        related=(("hardware.gpus_per_node", f"{plan.gpus} GPUs in all"),),
    )
