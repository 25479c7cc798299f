"""cluster that cannot be asked

## What it checks

The machines of the run answer at the address that `hardware.cluster.address` or `RAY_ADDRESS` names, within the time
limit.

## Why it matters

Ray's own client retries for minutes and then fails without saying what is wrong with the address.

## Bad

```yaml
hardware: {cluster: {kind: ray, address: "http://head:8265"}}
site: {address: "http://head:8265", problem: connection refused}
```

## Good

```yaml
hardware: {cluster: {kind: ray, address: "http://head:8265"}}
site: {address: "http://head:8265"}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.site.protocol import Site


def check(plan: Plan, site: Site) -> Iterator[Finding]:
    """Say why nothing is known."""
    if site.problem is None:
        return
    where = site.address or "this machine"
    yield Finding(
        route="hardware.cluster.address",
        note=f"{where}: {site.problem}",
        help="name the job server of a running cluster, http://HEAD:8265" if site.is_cluster else "try again",
        message=f"{where} cannot be asked",
    )
