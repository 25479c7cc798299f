"""shared prompts that are not shared

## What it checks

`hardware.train.prefix_grouper` is left out.

## Why it matters

Only the trainer of earlier releases reads it. Nothing is shared, and nothing says so.

## Bad

```yaml
hardware: {train: {prefix_grouper: true}}
```

## Good

```yaml
hardware: {train: {remove_padding: true}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look for the switch."""
    if plan.get("hardware.train.prefix_grouper"):
        yield Finding(
            route="hardware.train.prefix_grouper",
            note="verl's trainer does not read it",
            help="leave it out",
            severity=Severity.WARNING,
        )
