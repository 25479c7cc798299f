"""packages that a node lacks

## What it checks

verl, Ray, torch, TransferQueue and the inference engine are installed on every node that can hold a worker.

## Why it matters

Workers import them when they start, after the job has been queued and its nodes are held.

## Bad

```yaml
site: {nodes: [{packages: {verl: 0.9.1, ray: 2.60.0, torch: null}}]}
```

## Good

```yaml
site: {nodes: [{packages: {verl: 0.9.1, ray: 2.60.0, torch: 2.13.0}}]}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.site.nodes import alike
from orbiter_spec.rules.site.protocol import Node, Site


def check(plan: Plan, site: Site) -> Iterator[Finding]:
    """Name each node that lacks something, with what it lacks."""
    if not site.is_cluster:
        return  # launch/site.py says what to install here
    for packages, nodes in alike(site, _missing):
        yield Finding(
            route="hardware.cluster",
            note=f"{', '.join(packages)} missing on {nodes}",
            help="install them there, or bring them with the job's runtime environment",
        )


def _missing(node: Node) -> tuple[str, ...]:
    if not (node.cpus or node.gpus):
        return ()
    return tuple(name for name, version in node.packages.items() if version is None)
