"""one machine for several nodes

## What it checks

With `cluster.kind: local` there is one node, no separate rollout nodes beside it.

## Why it matters

A Ray started on this machine has one node. verl asks for one placement group a node and waits for ever, or reports
fewer GPUs than it wants.

## Bad

```yaml
hardware: {nodes: 2, cluster: {kind: local}}
```

## Good

```yaml
hardware: {nodes: 2, cluster: {kind: ray, address: "http://head:8265"}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Count the nodes of a local run."""
    nodes = facts.number(plan, "hardware.nodes")
    local = plan.get("hardware.cluster.kind") == "local" or (plan.on_cpu and plan.get("hardware.cluster.kind") is None)
    if not local or nodes == 1:
        return
    route = "hardware.cluster.kind" if "hardware.cluster.kind" in plan.given else "hardware.nodes"
    yield Finding(
        route=route,
        note=f"{nodes} nodes on one machine",
        help="use cluster: {kind: ray, address: ...}, or nodes: 1",
        related=(("hardware.nodes", f"{nodes} nodes train"),),
    )
