"""advantage estimator that this release does not feed

## What it checks

`algorithm.estimator`, or the algorithm's, is none of those whose input verl's trainer no longer makes: `remax`
(scores of greedy answers), `gdpo` (parts of the reward), `optimal_token_baseline` and its variant (sums of squared
probabilities).

## Why it matters

The trainer of this release hands rewards, values and log-probabilities to the estimator, and nothing else. These
raise in the first step, when the batch is already generated.

## Bad

```yaml
algorithm: {name: remax}
```

## Good

```yaml
algorithm: {name: rloo}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

MISSING: Mapping[str, tuple[str, str]] = {
    "remax": ("the scores of greedy answers", "rloo"),
    "gdpo": ("the parts of the reward", "grpo"),
    "optimal_token_baseline": ("sums of squared probabilities", "grpo"),
    "tir_optimal_token_baseline": ("sums of squared probabilities", "grpo"),
}


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the estimator with those that go without."""
    estimator = str(plan.get("algorithm.estimator"))
    if estimator not in MISSING:
        return
    need, instead = MISSING[estimator]
    yield Finding(
        route="algorithm.estimator" if "algorithm.estimator" in plan.given else "algorithm.name",
        note=f"{estimator} needs {need}, which verl's trainer does not make",
        help=f"use {instead}",
    )
