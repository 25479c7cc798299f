"""rows at the end of an epoch are dropped

## What it checks

An epoch leaves out less than a tenth of the training rows.

## Why it matters

verl drops an incomplete batch. With shuffling the rows that are lost differ from epoch to epoch; without it they are
never seen.

## Bad

```yaml
# rows: 1000
algorithm: {batch: {prompts: 128}}
```

## Good

```yaml
# rows: 1024
algorithm: {batch: {prompts: 128}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

NOTABLE = 0.1


def check(plan: Plan) -> Iterator[Finding]:
    """Look at the remainder."""
    rows, prompts = plan.rows.train, facts.number(plan, "algorithm.batch.prompts")
    if rows is None or rows < prompts or rows % prompts < rows * NOTABLE:
        return
    yield Finding(
        route="algorithm.batch.prompts",
        note=f"{rows % prompts} of {rows} rows are left over in each epoch",
        help=f"{rows // prompts} whole batches an epoch; choose a divisor of {rows} to use every row",
        related=(("dataset.train", f"{rows} rows"),),
        severity=Severity.NOTE,
    )
