"""KL where the algorithm does not have it

## What it checks

`kl.apply`, where it is written, is what the algorithm's paper uses: the loss for GRPO and its kin, the reward for
PPO, RLOO and REINFORCE++.

## Why it matters

Both run. Compared with published numbers the run is another algorithm.

## Bad

```yaml
algorithm: {name: rloo, kl: {apply: loss}}
```

## Good

```yaml
algorithm: {name: rloo, kl: {apply: reward}}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

USUAL: Mapping[str, str] = {
    "ppo": "reward",
    "rloo": "reward",
    "reinforce++": "reward",
    "grpo": "loss",
    "reinforce++-baseline": "loss",
    "grpo-passk": "loss",
}


def check(plan: Plan) -> Iterator[Finding]:
    """Compare where KL acts with the algorithm's usual place."""
    name, apply = str(plan.get("algorithm.name")), plan.get("algorithm.kl.apply")
    usual = USUAL.get(name)
    if usual is None or "algorithm.kl.apply" not in plan.given or apply in ("none", "both", usual):
        return
    yield Finding(
        route="algorithm.kl.apply",
        note=f"{name} has its KL term in the {usual}",
        help=f"use {usual} to train as the paper does",
        related=(("algorithm.name", name),),
        severity=Severity.NOTE,
    )
