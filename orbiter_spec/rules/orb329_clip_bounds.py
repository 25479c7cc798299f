"""clipping bound without meaning

## What it checks

`clip.low` is below 1, and `clip.high` is at least `clip.low`.

## Why it matters

The ratio of probabilities is above 0, so a lower bound of 1 or more below one never clips. A narrower upper bound
clips what should grow before what should shrink.

## Bad

```yaml
algorithm: {name: grpo, clip: {low: 1.2, high: 1.2}}
```

## Good

```yaml
algorithm: {name: grpo, clip: {low: 0.2, high: 0.28}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the bounds with each other and with 1."""
    low, high = plan.get("algorithm.clip.low"), plan.get("algorithm.clip.high")
    if (plan.get("algorithm.loss.kind") or "vanilla") not in ("vanilla", "gspo", "geo_mean") or low is None:
        return
    if low >= 1:
        yield Finding(
            route="algorithm.clip.low",
            note=f"1 - {low} is not above 0: nothing is clipped from below",
            help="use 0.2",
            severity=Severity.WARNING,
        )
    elif high is not None and high < low:
        yield Finding(
            route="algorithm.clip.high",
            note=f"{high} is narrower than {low} below one",
            help=f"use {low} or more",
            related=(("algorithm.clip.low", f"{low}"),),
            severity=Severity.NOTE,
        )
