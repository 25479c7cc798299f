"""profiler that never starts

## What it checks

`run.profile` names steps, and they lie inside the run where its length is known.

## Why it matters

A profiler without steps costs nothing and records nothing; a run of hours ends without the trace it was started for.

## Bad

```yaml
run: {profile: {tool: torch, roles: {actor: {all_ranks: true}}}}
```

## Good

```yaml
run: {profile: {tool: torch, steps: [2, 3], roles: {actor: {all_ranks: true}}}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look for steps of the run."""
    if plan.get("run.profile") is None:
        return
    steps = plan.get("run.profile.steps")
    total = plan.batches.total_steps if plan.batches else None
    if not steps:
        note, cure = "no step is named", "add steps, such as [2, 3]"
    elif total is not None and all(step > total or step < 1 for step in steps):
        note, cure = f"the run has steps 1 to {total}", f"use steps up to {total}"
    else:
        return
    yield Finding(route="run.profile.steps", note=note, help=cure, severity=Severity.WARNING)
