"""validation only, without the validation

## What it checks

`run.evaluate.only` does not stand beside `before_training: false`, and there are validation rows.

## Why it matters

verl stops after the validation before training. Without it the run trains to the end; with no rows the empty result
stops it.

## Bad

```yaml
run: {evaluate: {only: true, before_training: false}}
```

## Good

```yaml
run: {evaluate: {only: true}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look at the first validation and at its rows."""
    first = plan.get("run.evaluate.before_training")
    if plan.get("run.evaluate.only") and first is False:
        yield Finding(
            route="run.evaluate.only",
            note="the run would train to the end",
            help="leave before_training out",
            related=(("run.evaluate.before_training", "no validation to stop after"),),
            severity=Severity.WARNING,
        )
    if first and plan.rows.validation == 0:
        yield Finding(
            route="dataset.validation",
            note="0 rows to validate with before training",
            help="give rows, or write run.evaluate.before_training: false",
            related=(("run.evaluate.before_training", "validates before the first step"),),
        )
