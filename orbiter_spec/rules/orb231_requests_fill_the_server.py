"""more requests than an inference server takes

## What it checks

With asynchronous generation, the answers of one batch over the replicas stay below what a server takes at once: 1000,
or `max_sequences` where it is more.

## Why it matters

Every waiting request holds one of the server's places, and so does the call that pauses it for a weight sync. When
none is free the sync waits until answers are done: long steps, and stalls with long answers.

## Bad

```yaml
algorithm: {batch: {prompts: 512, samples_per_prompt: 32}}
hardware: {rollout: {asynchronous: true, tensor_parallel: 8}}
```

## Good

```yaml
algorithm: {batch: {prompts: 256, samples_per_prompt: 32}}
hardware: {rollout: {asynchronous: true, tensor_parallel: 1}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Compare requests and places."""
    if not plan.get("hardware.rollout.asynchronous") or facts.separate(plan):
        return
    replicas = max(1, plan.gpus // facts.replica_gpus(plan))
    places = max(1000, int(plan.get("hardware.rollout.max_sequences") or 256))
    requests = facts.number(plan, "algorithm.batch.prompts") * facts.samples(plan) // replicas
    if requests < places * 2:
        return
    yield Finding(
        route="algorithm.batch.prompts",
        note=f"{requests} requests for a server with {places} places",
        help=f"use more replicas, or write hardware.rollout.max_sequences: {requests}",
        related=(("hardware.rollout.tensor_parallel", f"{replicas} replicas"),),
        severity=Severity.WARNING,
    )
