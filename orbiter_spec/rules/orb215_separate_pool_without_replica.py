"""separate rollout GPUs hold no whole number of replicas

## What it checks

With `placement: separate`, the rollout's nodes hold at least one replica, and none of their GPUs is left over.

## Why it matters

With no replica every request fails and is asked for again without end. GPUs that are left over are reserved and idle.

## Bad

```yaml
hardware: {rollout: {placement: separate, gpus_per_node: 2, tensor_parallel: 4}}
algorithm: {staleness: {sync_every: 1}}
```

## Good

```yaml
hardware: {rollout: {placement: separate, gpus_per_node: 4, tensor_parallel: 4}}
algorithm: {staleness: {sync_every: 1}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import nearest_multiples


def check(plan: Plan) -> Iterator[Finding]:
    """Count the replicas of the rollout's own nodes."""
    if not facts.separate(plan):
        return
    nodes, each = facts.number(plan, "hardware.rollout.nodes"), facts.number(plan, "hardware.rollout.gpus_per_node")
    replica, total = facts.replica_gpus(plan), nodes * each
    if total % replica == 0:
        return
    replicas = total // replica
    note = f"{total} GPUs hold {replicas} replicas of {replica}" + (f", {total % replica} idle" if replicas else "")
    yield Finding(
        route="hardware.rollout.gpus_per_node",
        note=note,
        help=f"use {nearest_multiples(each, lambda size: size * nodes % replica == 0)} GPUs on each node",
        related=(("hardware.rollout.tensor_parallel", f"{replica} GPUs for a replica"),),
        severity=Severity.WARNING if replicas else Severity.ERROR,
    )
