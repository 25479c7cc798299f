"""rollout correction that bypass leaves out

## What it checks

With `rollout_correction.bypass` neither `importance` nor `rejection` nor `loss` is written.

## Why it matters

In bypass verl's trainer takes the rollout's probabilities as the old ones and goes on with the plain policy loss.
Weights and rejection, which the older trainer applied there, are skipped.

## Bad

```yaml
algorithm: {name: grpo, rollout_correction: {bypass: true, importance: token}}
```

## Good

```yaml
algorithm: {name: grpo, rollout_correction: {bypass: true}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

HOME = "algorithm.rollout_correction"


def check(plan: Plan) -> Iterator[Finding]:
    """Look for settings beside bypass."""
    if not plan.get(f"{HOME}.bypass") or plan.get("algorithm.loss.kind") == "bypass_mode":
        return
    for word in ("importance", "rejection", "loss"):
        if f"{HOME}.{word}" in plan.given:
            yield Finding(
                route=f"{HOME}.{word}",
                note="skipped in bypass",
                help="leave it out, or leave bypass out",
                related=((f"{HOME}.bypass", "the plain policy loss is used"),),
                severity=Severity.WARNING,
            )
