"""sample reweighting that moves advantages

## What it checks

`algorithm.preference_feedback` stands beside PPO's estimator and verl's older trainer, which is chosen for it where
`algorithm.trainer` is left out.

## Why it matters

Rows are drawn anew by their score. The newer trainer writes the results back in the old order: advantages land on other
answers. Estimators other than PPO's do not read the section at all.

## Bad

```yaml
algorithm: {name: ppo, trainer: v1, preference_feedback: {method: pow}}
```

## Good

```yaml
algorithm: {name: ppo, preference_feedback: {method: pow}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look for the section, and at who would read it."""
    read = plan.get("algorithm.estimator") == "gae"
    if not facts.is_on(plan, "algorithm.preference_feedback") or (read and plan.is_legacy):
        return
    yield Finding(
        route="algorithm.preference_feedback",
        note="advantages would go to other answers" if read else f"{plan.get('algorithm.estimator')} does not read it",
        help="write algorithm.trainer: legacy" if read else "leave it out",
        severity=Severity.WARNING,
    )
