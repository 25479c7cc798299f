"""inference replica does not fit whole nodes

## What it checks

A replica larger than a node takes whole nodes; a smaller one divides the node when there are several.

## Why it matters

verl asserts the first when replicas start, after the actor is loaded. A replica that begins on one node and ends on
the next is given GPUs of both, and its engine never comes up.

## Bad

```yaml
hardware: {nodes: 3, gpus_per_node: 8, rollout: {tensor_parallel: 12}}
algorithm: {batch: {prompts: 96}}
```

## Good

```yaml
hardware: {nodes: 3, gpus_per_node: 8, rollout: {tensor_parallel: 8}}
algorithm: {batch: {prompts: 96}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import nearest_divisors


def check(plan: Plan) -> Iterator[Finding]:
    """Compare a replica with each kind of node it can stand on."""
    pools = [("hardware", facts.number(plan, "hardware.nodes"), facts.number(plan, "hardware.gpus_per_node"))]
    if facts.separate(plan):
        nodes, each = facts.number(plan, "hardware.rollout.nodes"), facts.number(plan, "hardware.rollout.gpus_per_node")
        pools.append(("hardware.rollout", nodes, each))
    replica = facts.replica_gpus(plan)
    for section, nodes, each in pools:
        whole = replica % min(each, replica) == 0
        inside = replica >= each or nodes == 1 or each % replica == 0
        if (whole and inside) or (section == "hardware" and plan.gpus % replica):
            continue
        yield Finding(
            route="hardware.rollout.tensor_parallel",
            note=f"a replica of {replica} GPUs on nodes of {each}",
            help=f"use a replica of {nearest_divisors(each, min(replica, each))} GPUs, or of whole nodes",
            related=((f"{section}.gpus_per_node", f"{each} GPUs on each node"),),
            severity=Severity.WARNING if whole else Severity.ERROR,
        )
