"""second run on a cluster

## What it checks

No other run of verl lives on the cluster, unless `run` submits this one: then it has a queue of its own.

## Why it matters

TransferQueue is found by its name: a second run joins the first one's and both train on mixed trajectories.

## Bad

```yaml
site: {other_run: true}
```

## Good

```yaml
site: {other_run: false}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.site.protocol import Site


def check(plan: Plan, site: Site) -> Iterator[Finding]:
    """Look for the other run's TransferQueue."""
    if site.other_run and plan.get("hardware.cluster.kind") != "ray":
        yield Finding(
            route="hardware.cluster.address",
            note="TransferQueue of another run is there",
            help="wait for that run, stop it, or use another cluster",
        )
