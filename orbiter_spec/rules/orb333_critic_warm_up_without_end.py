"""critic warm-up that lasts as long as the run

## What it checks

`algorithm.critic.warmup_steps` is at most the run's number of steps.

## Why it matters

While the critic warms up the actor is not updated. In a run that is shorter the policy comes out as it went in, and
every curve but the critic's is flat.

## Bad

```yaml
# rows: 256
algorithm: {name: ppo, batch: {prompts: 128}, epochs: 3, critic: {warmup_steps: 10}}
```

## Good

```yaml
# rows: 256
algorithm: {name: ppo, batch: {prompts: 128}, epochs: 3, critic: {warmup_steps: 2}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

ROUTE = "algorithm.critic.warmup_steps"


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the warm-up with the run; step N updates the actor when N reaches the warm-up."""
    steps, total = int(plan.get(ROUTE) or 0), plan.batches.total_steps if plan.batches else None
    if not plan.needs_critic or total is None or steps <= total:
        return
    yield Finding(
        route=ROUTE,
        note=f"{steps} steps for the critic alone, in a run of {total}",
        help=f"use fewer than {total}, or train longer",
        related=(("algorithm.epochs", f"{total} steps in all"),),
        severity=Severity.WARNING,
    )
