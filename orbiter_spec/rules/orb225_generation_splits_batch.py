"""generation batch does not divide the batch

## What it checks

`algorithm.batch.generation` divides `algorithm.batch.prompts`. Where groups are filtered or generation is
asynchronous verl fetches single prompts, so it is left out.

## Why it matters

verl fetches a batch in whole generation batches and raises in the first step, after validation. Where it fetches
single prompts the number has no effect.

## Bad

```yaml
algorithm: {batch: {prompts: 128, generation: 96}}
```

## Good

```yaml
algorithm: {batch: {prompts: 128, generation: 64}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import nearest_divisors

ROUTE = "algorithm.batch.generation"


def check(plan: Plan) -> Iterator[Finding]:
    """Compare both numbers, unless verl sets one of them aside."""
    size, prompts = plan.get(ROUTE), facts.number(plan, "algorithm.batch.prompts")
    if size is None:
        return
    reason = _single_prompts(plan)
    if reason and size != 1:
        yield Finding(
            route=ROUTE,
            note=f"verl takes 1 instead of {size}: {reason}",
            help="leave it out",
            severity=Severity.WARNING,
        )
    elif not reason and prompts % size:
        yield Finding(
            route=ROUTE,
            note=f"{prompts} is not a multiple of {size}",
            help=f"use {nearest_divisors(prompts, size)}",
            related=(("algorithm.batch.prompts", f"{prompts} prompts a step"),),
        )


def _single_prompts(plan: Plan) -> str:
    if plan.get("hardware.rollout.asynchronous") or facts.separate(plan):
        return "generation is asynchronous"
    return "groups are filtered" if facts.is_on(plan, "algorithm.filter_groups") else ""
