"""training counts sequences and scoring counts tokens, or the other way round

## What it checks

`hardware.train.micro_batch` and `hardware.rollout.micro_batch` fill their passes in the same way.

## Why it matters

The actor computes both with one engine; verl asserts that they agree after the actor's process has started, with no
message.

## Bad

```yaml
hardware: {train: {micro_batch: {tokens: 16384, dynamic: true}}, rollout: {micro_batch: {sequences: 8, dynamic: false}}}
```

## Good

```yaml
hardware: {train: {micro_batch: {tokens: 16384, dynamic: true}}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the two switches."""
    train, scoring = (facts.is_dynamic(plan, f"hardware.{name}") for name in ("train", "rollout"))
    if train == scoring:
        return
    words = {True: "tokens", False: "sequences"}
    yield Finding(
        route="hardware.rollout.micro_batch",
        note=f"training fills passes by {words[train]}, scoring by {words[scoring]}",
        help=f"give {words[train]} here, or leave the section out",
        related=(("hardware.train.micro_batch", f"by {words[train]}"),),
    )
