"""nodes that cannot reach one another

## What it checks

Every node can connect to a free port of every other, and ports that the spec chooses are free.

## Why it matters

NCCL, vLLM and verl's own workers choose free ports; where a firewall is between the nodes they wait for each other.

## Bad

```yaml
site: {nodes: [{address: a}, {address: b}], unconnected: [[a, b]]}
```

## Good

```yaml
site: {nodes: [{address: a}, {address: b}]}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.site.nodes import each
from orbiter_spec.rules.site.protocol import Node, Site

SHOWN = 4


def check(plan: Plan, site: Site) -> Iterator[Finding]:
    """Pairs without a connection, and ports that are taken."""
    if site.unconnected:
        pairs = ", ".join(f"{start} to {end}" for start, end in site.unconnected[:SHOWN])
        more = len(site.unconnected) - SHOWN
        yield Finding(
            route="hardware.cluster",
            note=f"no connection from {pairs}" + (f" and {more} more" if more > 0 else ""),
            help="open all ports between the nodes",
        )
    for (port, _), nodes in each(site, _taken):
        yield Finding(route="hardware.rollout", note=f"port {port} is taken on {nodes}", help="choose another port")


def _taken(node: Node) -> list[tuple[str, str]]:
    return [(str(port), "") for port in node.ports_taken]
