"""advantage estimator that verl does not know

## What it checks

`algorithm.estimator` is one of verl's, unless a package that may register more is imported
(`agent.model.external_lib`).

## Why it matters

The name is looked up in the first step, when the batch is already generated.

## Bad

```yaml
algorithm: {name: grpo, estimator: grpoo}
```

## Good

```yaml
algorithm: {name: grpo, estimator: grpo_vectorized}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity, nearest
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding
from orbiter_spec.spec.names import ESTIMATORS


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the name with verl's."""
    name = str(plan.get("algorithm.estimator"))
    if name in ESTIMATORS:
        return
    close = nearest(name, ESTIMATORS)
    registered = plan.get("agent.model.external_lib") is not None
    yield Finding(
        route="algorithm.estimator",
        note=f"{name!r} is none of them" + (f"; did you mean {close!r}?" if close else ""),
        help=f"write {close}" if close else f"use one of {', '.join(ESTIMATORS)}",
        severity=Severity.WARNING if registered else Severity.ERROR,
    )
