"""training ends before its steps

## What it checks

Epochs times steps an epoch reach `algorithm.steps`, where the rows are known.

## Why it matters

verl stops at whichever comes first. It then ends without the checkpoint and the validation of the last step.

## Bad

```yaml
# rows: 1024
algorithm: {steps: 100, epochs: 3, batch: {prompts: 128}}
```

## Good

```yaml
# rows: 1024
algorithm: {steps: 24, epochs: 3, batch: {prompts: 128}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the steps with what the epochs hold."""
    steps, epochs = plan.get("algorithm.steps"), int(plan.get("algorithm.epochs") or 1)
    each = plan.batches.steps_per_epoch if plan.batches else None
    if steps is None or not each or steps <= each * epochs:
        return
    needed = -(-steps // each)
    yield Finding(
        route="algorithm.steps",
        note=f"{epochs} x {each} = {each * epochs} steps in all epochs",
        help=f"use epochs: {needed}, or steps: {each * epochs}",
        related=(("algorithm.epochs", f"{epochs} passes over the rows"),),
        severity=Severity.WARNING,
    )
