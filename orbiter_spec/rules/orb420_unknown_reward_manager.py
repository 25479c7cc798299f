"""reward manager that verl does not know

## What it checks

`rewards.manager` is naive, dapo, gdpo, remote or rate_limited, or names a class in a file.

## Why it matters

verl's reward workers look the name up when they start, after models are loaded. Managers of the older trainer (batch,
prime, collab) are not among them.

## Bad

```yaml
rewards: {parts: [{builtin: exact_match}], manager: prime}
```

## Good

```yaml
rewards: {parts: [{builtin: exact_match}], manager: naive}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import nearest
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding
from orbiter_spec.spec.names import REWARD_MANAGERS


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the name with verl's."""
    name = plan.get("rewards.manager")
    if name is None or name in REWARD_MANAGERS or ":" in name:
        return
    close = nearest(name, REWARD_MANAGERS)
    yield Finding(
        route="rewards.manager",
        note=f"{name!r} is none of them" + (f"; did you mean {close!r}?" if close else ""),
        help=f"use {', '.join(REWARD_MANAGERS[:-1])}",
    )
