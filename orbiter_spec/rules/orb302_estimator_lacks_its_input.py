"""advantage estimator whose input nothing makes

## What it checks

`remax` (scores of greedy answers), `gdpo` (parts of the reward), `optimal_token_baseline` and its variant (sums of
squared probabilities) run on verl's older trainer, which `algorithm.trainer: legacy` names and which is chosen for them
where nothing is said. With `gdpo` the parts of the reward have names, and the token baselines compute their sums.

## Why it matters

The newer trainer hands rewards, values and log-probabilities to the estimator, and nothing else. An estimator that
misses its input raises in the first step, when the batch is already generated.

## Bad

```yaml
algorithm: {name: remax, trainer: v1}
```

## Good

```yaml
algorithm: {name: remax}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.plan.trainer import FED_BY_LEGACY
from orbiter_spec.rules.finding import Finding

SUMS = "algorithm.loss.sum_of_squares"
PARTS = "algorithm.reward_parts"


def check(plan: Plan) -> Iterator[Finding]:
    """Compare what the estimator needs with what the trainer and the spec give it."""
    estimator = str(plan.get("algorithm.estimator"))
    if estimator not in FED_BY_LEGACY:
        return
    need = FED_BY_LEGACY[estimator]
    named = "algorithm.estimator" if "algorithm.estimator" in plan.given else "algorithm.name"
    if not plan.is_legacy:
        yield Finding(
            route="algorithm.trainer" if "algorithm.trainer" in plan.given else named,
            note=f"{estimator} needs {need}, which verl's newer trainer does not make",
            help="write algorithm.trainer: legacy",
        )
    elif estimator == "gdpo" and not plan.get(PARTS):
        yield Finding(
            route=named,
            note="gdpo needs the names of the parts that the scorer returns",
            help=f"list them in {PARTS}",
        )
    elif estimator.endswith("token_baseline") and not plan.get(SUMS):
        yield Finding(
            route=SUMS if SUMS in plan.given else named,
            note=f"{estimator} needs {need}",
            help=f"write {SUMS}: true",
        )
