"""reward that is always zero

## What it checks

At least one part of `rewards` has a weight other than 0.

## Why it matters

A constant reward makes every advantage zero: the run goes on and nothing is learned.

## Bad

```yaml
rewards: [{builtin: exact_match, weight: 0.0}]
```

## Good

```yaml
rewards: [{builtin: exact_match, weight: 1.0}]
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look at the weights."""
    parts = facts.reward_parts(plan)
    if not parts or any(part.weight for part in parts):
        return
    yield Finding(
        route="rewards",
        note=f"the {len(parts)} weights are 0" if len(parts) > 1 else "the weight is 0",
        help="give a weight other than 0",
        severity=Severity.WARNING,
    )
