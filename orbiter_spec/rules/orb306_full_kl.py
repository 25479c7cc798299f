"""KL estimator that needs every logit

## What it checks

`kl.estimator` and `kl.reward_estimator`, where they are used, are not `full`.

## Why it matters

verl keeps the log-probabilities of the chosen tokens only and raises, without a message, in the first step.

## Bad

```yaml
algorithm: {name: grpo, kl: {estimator: full}}
```

## Good

```yaml
algorithm: {name: grpo, kl: {estimator: low_var_kl}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look at the estimators that are used."""
    apply = plan.get("algorithm.kl.apply")
    for word, places in (("estimator", ("loss", "both")), ("reward_estimator", ("reward", "both"))):
        route = f"algorithm.kl.{word}"
        if apply in places and plan.get(route) == "full":
            yield Finding(
                route=route,
                note="verl does not have it",
                help=f"use {'low_var_kl' if word == 'estimator' else 'kl'}",
                related=(("algorithm.kl.apply", str(apply)),),
            )
