"""batch does not divide over the workers

## What it checks

`algorithm.batch.prompts` times `samples_per_prompt` is a multiple of the workers when passes count sequences
(`micro_batch.sequences`). Under Megatron the workers are the data-parallel ones times the micro-batch.

## Why it matters

verl stops at start-up when the sequences do not come out even. With passes filled by tokens it pads instead, and says
nothing.

## Bad

```yaml
algorithm: {name: reinforce++, batch: {prompts: 12, samples_per_prompt: 1}}
hardware: {train: {sequence_parallel: 2, micro_batch: {sequences: 1}}}
```

## Good

```yaml
algorithm: {name: reinforce++, batch: {prompts: 16, samples_per_prompt: 1}}
hardware: {train: {sequence_parallel: 2, micro_batch: {sequences: 1}}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import nearest_multiples


def check(plan: Plan) -> Iterator[Finding]:
    """Compare sequences a step with what the workers take together."""
    if facts.is_dynamic(plan, "hardware.train") and not plan.is_legacy:
        return
    unit, words = _least(plan)
    prompts, samples = facts.number(plan, "algorithm.batch.prompts"), facts.samples(plan)
    if unit == 0 or prompts * samples % unit == 0:
        return
    usable = nearest_multiples(prompts, lambda count: count * samples % unit == 0)
    yield Finding(
        route="algorithm.batch.prompts",
        note=f"{prompts} x {samples} = {prompts * samples} sequences over {words}",
        help=f"use {usable} prompts",
        related=(
            ("algorithm.batch.samples_per_prompt", f"{samples} answers each"),
            ("hardware.gpus_per_node", f"{plan.gpus} workers"),
        ),
    )


def _least(plan: Plan) -> tuple[int, str]:
    """The sequences all workers take at least, 0 when the pool itself does not divide."""
    copies = facts.shape(plan).data_parallel
    if facts.is_dynamic(plan, "hardware.train"):
        return copies, f"{copies} data-parallel workers of verl's older trainer"
    if facts.train_engine(plan) != "megatron":
        return plan.gpus, f"{plan.gpus} workers"
    micro = int(plan.get("hardware.train.micro_batch.sequences") or 1)
    return copies * micro, f"{copies} data-parallel workers of {micro}"
