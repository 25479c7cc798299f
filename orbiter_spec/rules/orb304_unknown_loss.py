"""policy loss that verl does not know

## What it checks

`algorithm.loss.kind` is one of verl's losses, unless a package that may register more is imported
(`agent.model.external_lib`).

## Why it matters

The name is looked up in the first update, when the batch is already generated and scored.

## Bad

```yaml
algorithm: {name: grpo, loss: gpso}
```

## Good

```yaml
algorithm: {name: grpo, loss: gspo}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity, nearest
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding
from orbiter_spec.spec.names import LOSSES


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the name with verl's."""
    name = plan.get("algorithm.loss.kind")
    if name is None or name in LOSSES:
        return
    close = nearest(name, LOSSES)
    registered = plan.get("agent.model.external_lib") is not None
    yield Finding(
        route="algorithm.loss.kind",
        note=f"{name!r} is none of them" + (f"; did you mean {close!r}?" if close else ""),
        help=f"write {close}" if close else f"use one of {', '.join(LOSSES)}",
        severity=Severity.WARNING if registered else Severity.ERROR,
    )
