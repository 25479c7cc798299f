"""weight syncs that do not divide the batch

## What it checks

With a separate rollout, `algorithm.batch.prompts` is `algorithm.staleness.sync_every` (4 when it is left open) times
`algorithm.batch.minibatch`.

## Why it matters

The separate trainer makes one update a mini-batch and sends weights after so many of them. It asserts the product
when it is made, once Ray and the task runner are up.

## Bad

```yaml
hardware: {rollout: {placement: separate}}
algorithm: {batch: {prompts: 256, minibatch: 64}, staleness: {sync_every: 2}}
```

## Good

```yaml
hardware: {rollout: {placement: separate}}
algorithm: {batch: {prompts: 256, minibatch: 64}, staleness: {sync_every: 4}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

UPDATES = 4


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the product with the batch."""
    prompts, minibatch = facts.number(plan, "algorithm.batch.prompts"), facts.minibatch(plan)
    updates = int(plan.get("algorithm.staleness.sync_every") or UPDATES)
    if not facts.separate(plan) or prompts % minibatch or prompts == updates * minibatch:
        return
    written = "algorithm.staleness.sync_every" in plan.given
    yield Finding(
        route="algorithm.staleness.sync_every" if written else "algorithm.batch.minibatch",
        note=f"{updates} x {minibatch} = {updates * minibatch} prompts, and the batch has {prompts}",
        help=f"write algorithm.staleness.sync_every: {prompts // minibatch}",
        related=(("algorithm.batch.prompts", f"{prompts} prompts a step"),),
    )
