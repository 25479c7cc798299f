"""fewer rows than one batch

## What it checks

The training rows (after `dataset.limit`) fill at least one batch of `algorithm.batch.prompts`.

## Why it matters

verl counts steps an epoch by whole batches. Zero steps end in a division by zero, after models are loaded and the
first validation has run.

## Bad

```yaml
# rows: 100
algorithm: {batch: {prompts: 128}}
```

## Good

```yaml
# rows: 1280
algorithm: {batch: {prompts: 128}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the known rows with one batch."""
    rows, prompts = plan.rows.train, facts.number(plan, "algorithm.batch.prompts")
    limit = plan.get("dataset.limit")
    if rows is None:
        return
    rows = min(rows, limit) if limit else rows
    if rows >= prompts or rows == 0:
        return
    samples, workers = facts.samples(plan), plan.gpus
    usable = [size for size in range(1, rows + 1) if size * samples % workers == 0]
    yield Finding(
        route="algorithm.batch.prompts",
        note=f"{prompts} prompts a step, {rows} rows in all",
        help=f"use at most {usable[-1]} prompts, or more rows" if usable else "use more rows",
        related=(("dataset.train", f"{rows} rows"),),
    )
