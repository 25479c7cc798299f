"""mini-batch does not divide over the workers

## What it checks

`minibatch` times `samples_per_prompt` is a multiple of the data-parallel workers (GPUs over the GPUs that share one
sequence), for the actor and the critic.

## Why it matters

Each worker takes the same share of every optimiser step. verl asserts it in the first update, after models are loaded
and the first answers are generated; with fewer sequences than workers an update of older releases never ended.

## Bad

```yaml
algorithm: {name: reinforce++, batch: {prompts: 24, minibatch: 12}}
hardware: 8xH100
```

## Good

```yaml
algorithm: {name: reinforce++, batch: {prompts: 32, minibatch: 16}}
hardware: 8xH100
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import divisors, nearest_fitting, nearest_multiples


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the sequences of one optimiser step with the copies that share it."""
    yield from _compare(plan, "train", "algorithm.batch.minibatch")
    if plan.needs_critic:
        yield from _compare(plan, "critic", "algorithm.critic.minibatch")


def _compare(plan: Plan, role: str, route: str) -> Iterator[Finding]:
    copies, samples = facts.shape(plan, role).data_parallel, facts.samples(plan)
    minibatch = facts.minibatch_sequences(plan, role) // samples
    if copies == 0 or minibatch * samples % copies == 0:
        return
    prompts = facts.number(plan, "algorithm.batch.prompts")
    dividing = [size for size in divisors(prompts) if size * samples % copies == 0]
    usable = nearest_fitting(dividing, minibatch) or nearest_multiples(minibatch, lambda n: n * samples % copies == 0)
    yield Finding(
        route=route,
        note=f"{minibatch} x {samples} = {minibatch * samples} sequences over {copies} data-parallel workers",
        help=f"use {usable} prompts",
        related=(("hardware.gpus_per_node", f"{plan.gpus} GPUs, {copies} copies of the batch"),),
    )
