"""mini-batch does not divide the batch

## What it checks

`algorithm.batch.prompts` is a multiple of `algorithm.batch.minibatch`, which is not larger. The critic's own
mini-batch is held to the same.

## Why it matters

A mini-batch larger than the batch stops verl at start when passes count sequences. Otherwise verl fills the batch up
to whole mini-batches with made-up rows: they cost time, and losses that average over sequences shrink. With a
separate rollout the batch must be whole mini-batches, else the trainer refuses to start.

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

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import nearest_divisors

PLACES = (("algorithm.batch.minibatch", "train"), ("algorithm.critic.minibatch", "critic"))


def check(plan: Plan) -> Iterator[Finding]:
    """Compare mini-batches and batch, all in prompts."""
    prompts = facts.number(plan, "algorithm.batch.prompts")
    for route, role in PLACES if plan.needs_critic else PLACES[:1]:
        minibatch = facts.minibatch(plan, role)
        if prompts % minibatch:
            yield _finding(plan, route, role, prompts, minibatch)


def _finding(plan: Plan, route: str, role: str, prompts: int, minibatch: int) -> Finding:
    too_large = minibatch > prompts
    whole = plan.is_legacy or (role == "train" and facts.separate(plan))
    refused = whole or (too_large and not facts.is_dynamic(plan, f"hardware.{role}"))
    rows = -(-prompts // minibatch) * minibatch
    note = (
        f"{minibatch} is larger than the batch of {prompts}"
        if too_large
        else f"{prompts} is not a multiple of {minibatch}"
    )
    return Finding(
        route=route,
        note=note if refused else f"{note}: {1 - prompts / rows:.0%} of the rows would be padding",
        help=f"use {nearest_divisors(prompts, minibatch)}",
        related=(("algorithm.batch.prompts", f"{prompts} prompts a step"),),
        severity=Severity.ERROR if refused else Severity.WARNING,
    )
