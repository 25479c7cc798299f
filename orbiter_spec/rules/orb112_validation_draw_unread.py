"""validation that is told to draw or not to draw

## What it checks

`run.evaluate.sample` agrees with `run.evaluate.temperature`; with `sample: true` the training temperature is above 0.

## Why it matters

verl validates at the validation temperature whatever `sample` says: `sample: true` at temperature 0 stays greedy,
`sample: false` above 0 draws. What it does look at is the training temperature, and it refuses 0 there.

## Bad

```yaml
run: {evaluate: {sample: true}}
```

## Good

```yaml
run: {evaluate: {sample: true, temperature: 0.6}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

ROUTE = "run.evaluate.sample"


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the switch with both temperatures."""
    wish, temperature = plan.get(ROUTE), plan.get("run.evaluate.temperature") or 0
    training = plan.get("agent.sampling.temperature")
    draws = wish if wish is not None else temperature > 0
    if draws and training == 0:
        yield Finding(
            route=ROUTE if wish is not None else "run.evaluate.temperature",
            note="verl refuses drawn validation when training is greedy",
            help="use agent.sampling.temperature above 0",
            related=(("agent.sampling.temperature", "0 is greedy"),),
        )
    elif wish is not None and wish != (temperature > 0):
        yield Finding(
            route=ROUTE,
            note=f"temperature {temperature} {'stays greedy' if wish else 'draws'} all the same",
            help="write a temperature above 0" if wish else "write temperature: 0",
            related=(("run.evaluate.temperature", f"{temperature}"),),
            severity=Severity.WARNING,
        )
