"""micro-batch does not divide a worker's share of the mini-batch

## What it checks

When passes count sequences, `hardware.train.micro_batch.sequences` divides the sequences of one mini-batch on one
data-parallel worker.

## Why it matters

verl asserts it in the first actor update, after the first batch has been generated.

## Bad

```yaml
algorithm: {name: grpo, batch: {prompts: 64, samples_per_prompt: 8}}
hardware:
  train: {micro_batch: {sequences: 24}}
  rollout: {micro_batch: {sequences: 8}}
  reference: {micro_batch: {sequences: 8}}
```

## Good

```yaml
algorithm: {name: grpo, batch: {prompts: 64, samples_per_prompt: 8}}
hardware: {train: {micro_batch: {sequences: 16}}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import nearest_divisors

ROUTE = "hardware.train.micro_batch.sequences"


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the micro-batch with what one worker holds."""
    micro, copies = plan.get(ROUTE), facts.shape(plan).data_parallel
    if not micro or facts.is_dynamic(plan, "hardware.train") or copies == 0:
        return
    whole = facts.minibatch_sequences(plan)
    if whole % copies or whole // copies % micro == 0:
        return
    held = whole // copies
    yield Finding(
        route=ROUTE,
        note=f"{held} sequences of a worker's mini-batch are not a multiple of {micro}",
        help=f"use {nearest_divisors(held, micro)}, or give tokens instead",
        related=(("algorithm.batch.minibatch", f"{whole} sequences over {copies} workers"),),
    )
