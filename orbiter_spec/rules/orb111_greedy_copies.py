"""several validation answers that are all the same

## What it checks

With `run.evaluate.samples` above 1 the validation temperature is above 0.

## Why it matters

Greedy answers to one prompt do not differ. The metrics over several samples say nothing and cost their multiple.

## Bad

```yaml
run: {evaluate: {samples: 8}}
```

## Good

```yaml
run: {evaluate: {samples: 8, temperature: 0.7}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the number of answers with the temperature."""
    count, temperature = plan.get("run.evaluate.samples") or 1, plan.get("run.evaluate.temperature") or 0
    if count == 1 or temperature > 0:
        return
    yield Finding(
        route="run.evaluate.samples",
        note=f"{count} greedy answers to a prompt are the same one",
        help=f"write temperature: {plan.get('agent.sampling.temperature') or 1.0}, or samples: 1",
        related=(("run.evaluate.temperature", "0 is greedy"),),
        severity=Severity.WARNING,
    )
