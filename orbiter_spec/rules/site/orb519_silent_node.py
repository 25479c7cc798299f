"""node that gives no answer

## What it checks

Every node that Ray counts as alive runs a small task within the time limit.

## Why it matters

Ray notices a hanging machine after minutes, or never; what verl places there waits as long.

## Bad

```yaml
site: {nodes: [{}, {address: 10.0.0.7, answered: false}]}
```

## Good

```yaml
site: {nodes: [{}, {address: 10.0.0.7}]}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.site.protocol import Site


def check(plan: Plan, site: Site) -> Iterator[Finding]:
    """Name the silent ones."""
    silent = [node.address for node in site.nodes if not node.answered]
    well = len(site.nodes) - len(silent)
    if silent:
        yield Finding(
            route="hardware.cluster.address",
            note=f"no answer from {', '.join(silent)}; {well} of {len(site.nodes)} nodes answer",
            help="look at those machines, or take them out of the cluster",
        )
