"""KL in the loss and in the reward

## What it checks

`kl.apply: both` comes with a `reward_coefficient` of its own.

## Why it matters

The same distance is paid for twice, by two settings that look like one. Papers use one place: GRPO the loss, PPO,
RLOO and REINFORCE++ the reward.

## Bad

```yaml
algorithm: {name: grpo, kl: {apply: both, coefficient: 0.001}}
```

## Good

```yaml
algorithm: {name: grpo, kl: {apply: both, coefficient: 0.001, reward_coefficient: 0.0005}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look for two places with one number."""
    if plan.get("algorithm.kl.apply") != "both" or plan.get("algorithm.kl.reward_coefficient") is not None:
        return
    coefficient = plan.get("algorithm.kl.coefficient")
    yield Finding(
        route="algorithm.kl.apply",
        note=f"{coefficient} acts in the loss and in the reward",
        help="use loss or reward, or write reward_coefficient if both are meant",
        related=(("algorithm.kl.coefficient", f"{coefficient}"),),
        severity=Severity.WARNING,
    )
