"""sequence parallelism with padding kept

## What it checks

`sequence_parallel` above 1 comes with `remove_padding`, for the actor, the reference and the critic.

## Why it matters

Ulysses splits packed sequences. verl looks at the actor's setting at start, and at the others' when their engine is
built.

## Bad

```yaml
hardware: {train: {sequence_parallel: 2, remove_padding: false}}
```

## Good

```yaml
hardware: {train: {sequence_parallel: 2, remove_padding: true}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look at each role's size."""
    if facts.train_engine(plan) not in facts.SEQUENCE_ENGINES:
        return
    for role in facts.roles(plan):
        kept = "hardware.critic.remove_padding" if role == "critic" else "hardware.train.remove_padding"
        if plan.get(kept) is not False:
            continue
        route = f"hardware.{role}.sequence_parallel"
        size = int(plan.get(route) or 1)
        if size > 1 and (role == "train" or route in plan.given):
            yield Finding(
                route=route,
                note=f"{size} GPUs share packed sequences, and padding is kept",
                help="use 1" if plan.on_cpu else f"write {kept}: true, or use 1",
                related=((kept, "false"),),
            )
