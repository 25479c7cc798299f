"""pipeline parallelism in the rollout

## What it checks

`hardware.rollout.pipeline_parallel` is 1.

## Why it matters

verl has it for none of its inference engines and raises once the actor is loaded.

## Bad

```yaml
hardware: {rollout: {pipeline_parallel: 2}}
```

## Good

```yaml
hardware: {rollout: {tensor_parallel: 2}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look at the one number."""
    stages = int(plan.get("hardware.rollout.pipeline_parallel") or 1)
    if stages == 1:
        return
    tensor = facts.number(plan, "hardware.rollout.tensor_parallel")
    yield Finding(
        route="hardware.rollout.pipeline_parallel",
        note=f"{stages} stages, and no engine has more than 1",
        help=f"leave it out, and use tensor_parallel: {tensor * stages} if the model does not fit",
    )
