"""sample reweighting that moves advantages

## What it checks

`algorithm.preference_feedback` is left out.

## Why it matters

verl draws rows anew by their score, but writes the results back in the old order: advantages land on other answers.
Estimators other than PPO's do not read it at all.

## Bad

```yaml
algorithm: {name: ppo, preference_feedback: {method: pow}}
```

## Good

```yaml
algorithm: {name: ppo}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look for the section."""
    if not facts.is_on(plan, "algorithm.preference_feedback"):
        return
    read = plan.get("algorithm.estimator") == "gae"
    yield Finding(
        route="algorithm.preference_feedback",
        note="advantages would go to other answers" if read else f"{plan.get('algorithm.estimator')} does not read it",
        help="leave it out",
        severity=Severity.WARNING,
    )
