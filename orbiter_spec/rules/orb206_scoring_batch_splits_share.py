"""micro-batch of log-probabilities does not divide a worker's share

## What it checks

When passes count sequences, the micro-batches with which the actor (`hardware.rollout.micro_batch`) and the reference
(`hardware.reference.micro_batch`) compute log-probabilities divide what one worker holds of the whole, padded batch.

## Why it matters

verl asserts it in the first step, once all answers are generated.

## Bad

```yaml
algorithm: {name: grpo, batch: {prompts: 64, samples_per_prompt: 8}}
hardware: {train: {micro_batch: {sequences: 8}}, rollout: {micro_batch: {sequences: 48}}}
```

## Good

```yaml
algorithm: {name: grpo, batch: {prompts: 64, samples_per_prompt: 8}}
hardware: {train: {micro_batch: {sequences: 8}}, rollout: {micro_batch: {sequences: 32}}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import nearest_divisors


def check(plan: Plan) -> Iterator[Finding]:
    """Compare each scoring micro-batch with the padded share of a worker."""
    yield from _compare(plan, "rollout", "train")
    if "reference" in facts.roles(plan):
        yield from _compare(plan, "reference", "reference")


def _compare(plan: Plan, section: str, role: str) -> Iterator[Finding]:
    route = f"hardware.{section}.micro_batch.sequences"
    micro, copies = plan.get(route), facts.shape(plan, role).data_parallel
    rows = facts.padded_sequences(plan)
    if not micro or facts.is_dynamic(plan, f"hardware.{section}") or copies == 0 or rows % copies:
        return
    held = rows // copies
    if facts.minibatch_sequences(plan) % copies or held % micro == 0 or not _own(plan, route, section):
        return
    yield Finding(
        route=route,
        note=f"{held} sequences of a worker's batch are not a multiple of {micro}",
        help=f"use {nearest_divisors(held, micro)}",
        related=(("algorithm.batch.prompts", f"{rows} sequences over {copies} workers"),),
    )


def _own(plan: Plan, route: str, section: str) -> bool:
    """False when the value only follows training's and training's is already wrong."""
    if route in plan.given:
        return True
    whole, copies = facts.minibatch_sequences(plan), facts.shape(plan).data_parallel
    micro = plan.get("hardware.train.micro_batch.sequences")
    return bool(copies and micro and whole % copies == 0 and whole // copies % micro == 0)
