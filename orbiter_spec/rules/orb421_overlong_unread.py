"""penalty for long answers that nothing applies

## What it checks

`algorithm.overlong` goes with the manager `dapo`, which is also what is used when `rewards.manager` is left out.

## Why it matters

The other managers do not read it.

## Bad

```yaml
algorithm: {name: grpo, overlong: {buffer_tokens: 128}}
rewards: {parts: [{builtin: exact_match}], manager: naive}
```

## Good

```yaml
algorithm: {name: grpo, overlong: {buffer_tokens: 128}}
rewards: {parts: [{builtin: exact_match}], manager: dapo}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the penalty with the manager."""
    manager = plan.get("rewards.manager")
    if not facts.is_on(plan, "algorithm.overlong") or manager in (None, "dapo") or ":" in manager:
        return
    yield Finding(
        route="algorithm.overlong",
        note=f"{manager} does not read it",
        help="leave rewards.manager out, or use dapo",
        related=(("rewards.manager", str(manager)),),
        severity=Severity.WARNING,
    )
