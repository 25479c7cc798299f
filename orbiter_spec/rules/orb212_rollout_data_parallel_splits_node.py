"""tensor parallelism does not divide a node of a data-parallel replica

## What it checks

With `hardware.rollout.data_parallel` above 1, `tensor_parallel` divides the GPUs that the replica has on a node.

## Why it matters

vLLM's server asserts it when it is launched, after the actor is loaded.

## Bad

```yaml
hardware: {nodes: 3, gpus_per_node: 4, rollout: {tensor_parallel: 6, data_parallel: 2}}
algorithm: {batch: {prompts: 96}}
```

## Good

```yaml
hardware: {nodes: 3, gpus_per_node: 4, rollout: {tensor_parallel: 2, data_parallel: 2}}
algorithm: {batch: {prompts: 96}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import nearest_divisors


def check(plan: Plan) -> Iterator[Finding]:
    """Compare tensor parallelism with the replica's share of a node."""
    if int(plan.get("hardware.rollout.data_parallel") or 1) == 1 or plan.get("hardware.rollout.engine") != "vllm":
        return
    section = "hardware.rollout" if facts.separate(plan) else "hardware"
    tensor = facts.number(plan, "hardware.rollout.tensor_parallel")
    held = min(facts.number(plan, f"{section}.gpus_per_node"), facts.replica_gpus(plan))
    if held % tensor == 0:
        return
    yield Finding(
        route="hardware.rollout.tensor_parallel",
        note=f"{held} GPUs of a node are not a multiple of {tensor}",
        help=f"use {nearest_divisors(held, tensor)}",
        related=(("hardware.rollout.data_parallel", "a replica of several engines"),),
    )
