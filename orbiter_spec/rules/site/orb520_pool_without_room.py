"""pool for which the cluster has no room

## What it checks

There is an arrangement of everything the plan asks of Ray on the nodes that are there: each node's share of a pool on
one node, as verl insists, with three CPUs for each GPU, and TransferQueue's storage units dealt out over all nodes.

## Why it matters

verl compares sums of GPUs only, and then waits for its placement groups without a time limit.

## Bad

```yaml
hardware: {gpus_per_node: 8}
site: {nodes: [{gpus: 4, cpus: 64}, {gpus: 4, cpus: 64}]}
```

## Good

```yaml
hardware: {gpus_per_node: 8}
site: {nodes: [{gpus: 8, cpus: 64}]}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from orbiter_spec.plan.model import ActorGroup, Plan
from orbiter_spec.plan.packing import STORAGE, Piece, Room, unplaced
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.site.nodes import alike
from orbiter_spec.rules.site.protocol import Site


def check(plan: Plan, site: Site) -> Iterator[Finding]:
    """Pack the free nodes; where that fails, the same nodes empty tell whether somebody else is in the way."""
    if not site.is_cluster or site.problem is not None or plan.demand is None:
        return
    groups = plan.demand.groups
    left_over = unplaced(plan.pools, groups, [Room(node.free_cpus, node.free_gpus) for node in site.nodes])
    if left_over is None:
        return
    busy = unplaced(plan.pools, groups, [Room(node.cpus, node.gpus) for node in site.nodes]) is None
    wanted = f"{left_over.gpus} GPUs and {left_over.cpus} CPUs" if left_over.gpus else f"{left_over.cpus} CPU"
    yield Finding(
        route="hardware.gpus_per_node" if left_over.gpus else "hardware.storage_units",
        note=f"{left_over.name} needs {wanted} on one node; free are {_free(site)}",
        help="wait until the cluster is free: idle, it has room" if busy else _cure(plan, site, left_over),
    )


def _free(site: Site) -> str:
    """Free GPUs and CPUs, and the nodes that have as many."""
    rooms = alike(site, lambda node: (f"{node.free_gpus:g} GPUs and {node.free_cpus:g} CPUs",))
    return "; ".join(f"{text} on {nodes}" for (text,), nodes in rooms) or "no nodes"


def _cure(plan: Plan, site: Site, piece: Piece) -> str:
    """The smallest change that helps: fewer storage units where CPUs are short, otherwise the nodes' own shape."""
    units = next((group.actors for group in _groups(plan) if group.name == STORAGE), 0)
    idle = [Room(node.cpus, node.gpus) for node in site.nodes]
    for fewer in range(units - 1, 0, -1):
        groups = [replace(group, actors=fewer) if group.name == STORAGE else group for group in _groups(plan)]
        if unplaced(plan.pools, groups, idle) is None:
            return f"use hardware.storage_units: {fewer}"
    widest = max((node.gpus for node in site.nodes), default=0)
    if piece.gpus > widest:
        return f"the widest node has {widest:g} GPUs: use that many a node, and more nodes, or another cluster"
    return "use fewer GPUs, or start Ray with more CPUs on each node (ray start --num-cpus)"


def _groups(plan: Plan) -> tuple[ActorGroup, ...]:
    return plan.demand.groups if plan.demand else ()
