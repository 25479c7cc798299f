"""mini-batch does not divide the batch

## What it checks

`algorithm.batch.prompts` is a multiple of `algorithm.batch.minibatch`, which is not larger.

## Why it matters

verl refuses a mini-batch larger than the batch when the workers start, and a remainder gives one optimiser step of
another size than the rest.

## Bad

```yaml
algorithm: {name: grpo, batch: {prompts: 256, minibatch: 96}}
```

## Good

```yaml
algorithm: {name: grpo, batch: {prompts: 256, minibatch: 64}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import nearest_divisors


def check(plan: Plan) -> Iterator[Finding]:
    """Compare mini-batch and batch, both in prompts."""
    prompts, minibatch = plan.get("algorithm.batch.prompts"), plan.get("algorithm.batch.minibatch")
    if prompts % minibatch == 0:
        return
    yield Finding(
        route="algorithm.batch.minibatch",
        note=f"{prompts} is not a multiple of {minibatch}",
        help=f"use {nearest_divisors(prompts, minibatch)}",
        related=(("algorithm.batch.prompts", f"{prompts} prompts a step"),),
    )
