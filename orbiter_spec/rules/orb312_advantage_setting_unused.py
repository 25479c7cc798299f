"""advantage setting that this estimator does not read

## What it checks

`gae_lambda` is written with `ppo`, `discount` with `ppo` or `reinforce++`, `normalize_advantage` with a group
algorithm that divides by the deviation, `reward_parts` with `gdpo`.

## Why it matters

The setting has no effect.

## Bad

```yaml
algorithm: {name: grpo, gae_lambda: 0.95}
```

## Good

```yaml
algorithm: {name: ppo, gae_lambda: 0.95}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

READ_BY: Mapping[str, tuple[str, ...]] = {
    "gae_lambda": ("gae",),
    "discount": ("gae", "reinforce_plus_plus"),
    "normalize_advantage": ("grpo", "grpo_vectorized", "grpo_passk", "gdpo"),
    "reward_parts": ("gdpo",),
}


def check(plan: Plan) -> Iterator[Finding]:
    """Compare every setting that was written with the estimator."""
    estimator = plan.get("algorithm.estimator")
    for word, estimators in READ_BY.items():
        route = f"algorithm.{word}"
        if route in plan.given and estimator not in estimators:
            yield Finding(
                route=route,
                note=f"{estimator} does not read it",
                help=f"leave it out; it belongs to {', '.join(estimators)}",
                related=(("algorithm.name", f"uses {estimator}"),),
                severity=Severity.WARNING,
            )
