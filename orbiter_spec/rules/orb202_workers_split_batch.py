"""batch does not divide over the workers

## What it checks

`algorithm.batch.prompts` times `samples_per_prompt` is a multiple of the data-parallel workers.

## Why it matters

verl gives every worker the same number of sequences and stops at start-up when they do not come out even.

## Bad

```yaml
algorithm: {name: grpo, batch: {prompts: 30, samples_per_prompt: 1}}
hardware: 8xH100
```

## Good

```yaml
algorithm: {name: grpo, batch: {prompts: 32, samples_per_prompt: 1}}
hardware: 8xH100
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import nearest_multiples


def check(plan: Plan) -> Iterator[Finding]:
    """Compare sequences a step with workers."""
    prompts, samples = plan.get("algorithm.batch.prompts"), plan.get("algorithm.batch.samples_per_prompt")
    if prompts * samples % plan.gpus == 0:
        return
    usable = nearest_multiples(prompts, lambda count: count * samples % plan.gpus == 0)
    yield Finding(
        route="algorithm.batch.prompts",
        note=f"{prompts} x {samples} = {prompts * samples} sequences over {plan.gpus} workers",
        help=f"use {usable} prompts",
        related=(
            ("algorithm.batch.samples_per_prompt", f"{samples} answers each"),
            ("hardware.gpus_per_node", f"{plan.gpus} workers"),
        ),
    )
