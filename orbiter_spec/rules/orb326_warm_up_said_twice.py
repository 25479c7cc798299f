"""warm-up that is said twice or never ends

## What it checks

Only one of `warmup_steps` and `warmup_ratio` is written, and the steps are fewer than the run's optimiser schedule.

## Why it matters

Steps win over the ratio. A warm-up longer than the run never reaches the learning rate.

## Bad

```yaml
algorithm: {name: grpo, optimizer: {warmup_steps: 10, warmup_ratio: 0.1}}
```

## Good

```yaml
algorithm: {name: grpo, optimizer: {warmup_ratio: 0.1}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look at each role's warm-up."""
    homes = ("algorithm.optimizer", "algorithm.critic.optimizer") if plan.needs_critic else ("algorithm.optimizer",)
    total = plan.batches.total_steps if plan.batches else None
    for home in homes:
        steps, ratio = plan.get(f"{home}.warmup_steps"), plan.get(f"{home}.warmup_ratio")
        if steps and ratio:
            yield Finding(
                route=f"{home}.warmup_ratio",
                note=f"{steps} steps are used instead",
                help="leave one of them out",
                related=((f"{home}.warmup_steps", f"{steps} steps"),),
                severity=Severity.WARNING,
            )
        if steps and total and steps >= total:
            yield Finding(
                route=f"{home}.warmup_steps",
                note=f"{steps} steps of warm-up in a run of {total}",
                help=f"use at most {total - 1}, or warmup_ratio",
                severity=Severity.WARNING,
            )
