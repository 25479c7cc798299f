"""fewer logical CPUs than Ray is asked for

## What it checks

`hardware.cluster.cpus` is at least what the plan asks of Ray: three for every training GPU, two for every GPU of a
separate rollout, one for each storage unit and one for their controller, and with the reward manager `remote` the
square of its workers.

## Why it matters

verl waits for its placement groups without a time limit: the run hangs with idle GPUs and no message.

## Bad

```yaml
hardware: {gpus_per_node: 2, storage_units: 8, cluster: {kind: local, cpus: 8}}
```

## Good

```yaml
hardware: {gpus_per_node: 2, storage_units: 2, cluster: {kind: local, cpus: 9}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Compare what is offered with the plan's demand."""
    offered = plan.get("hardware.cluster.cpus")
    if offered is None or plan.demand is None or offered >= plan.demand.cpus:
        return
    needed = plan.demand.cpus
    units = facts.number(plan, "hardware.storage_units")
    short = needed - offered
    cure = f"use {needed}"
    if units > short:
        cure += f", or storage_units: {units - short}"
    scoring = next((group.actors for group in plan.demand.groups if group.name == "reward scoring"), 0)
    if scoring > short:
        cure += f", or rewards.workers: {int((scoring - short) ** 0.5)}"
    yield Finding(
        route="hardware.cluster.cpus",
        note=f"{needed} are asked for, {offered} are there",
        help=cure,
        related=(("hardware.gpus_per_node", f"{plan.gpus} training processes hold 3 each"),),
    )
