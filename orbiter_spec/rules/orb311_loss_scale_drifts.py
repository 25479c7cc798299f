"""loss scale that depends on how passes are packed

## What it checks

`aggregation: seq-mean-token-sum-norm` comes with a `scale_factor`.

## Why it matters

Left out, verl divides by the width of the padded micro-batch: the step size changes with the longest answer in it.
The paper divides by a constant, the response limit.

## Bad

```yaml
algorithm: {name: grpo, loss: {aggregation: seq-mean-token-sum-norm}}
```

## Good

```yaml
algorithm: {name: grpo, loss: {aggregation: seq-mean-token-sum-norm, scale_factor: 512}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look for the constant."""
    if plan.get("algorithm.loss.aggregation") != "seq-mean-token-sum-norm":
        return
    if plan.get("algorithm.loss.scale_factor") is not None:
        return
    limit = facts.number(plan, "agent.limits.response_tokens")
    yield Finding(
        route="algorithm.loss.aggregation",
        note="each micro-batch is divided by its own width",
        help=f"write scale_factor: {limit}, the response limit",
        related=(("agent.limits.response_tokens", f"{limit}"),),
        severity=Severity.WARNING,
    )
