"""checkpoints saved in the background that nobody finds again

## What it checks

`run.checkpoint.asynchronous` goes with `engine: megatron`, and with `keep` of 2 or more.

## Why it matters

With a background save the engine, not the trainer, writes the file that names the latest checkpoint, and only
Megatron's does. Under other engines `resume: auto` starts from step 0 and writes over what is there. Keeping one
checkpoint removes the last good one while the next is still being written.

## Bad

```yaml
run: {checkpoint: {asynchronous: true}}
```

## Good

```yaml
run: {checkpoint: {asynchronous: true}}
hardware: {train: {engine: megatron}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

ROUTE = "run.checkpoint.asynchronous"


def check(plan: Plan) -> Iterator[Finding]:
    """Look at the engine and at how many checkpoints stay."""
    engine = facts.train_engine(plan)
    if not plan.get(ROUTE):
        return
    if engine != "megatron":
        yield Finding(
            route=ROUTE,
            note=f"{engine} never marks a background checkpoint as the latest",
            help="leave it out",
            related=(("hardware.train.engine", engine),),
            severity=Severity.WARNING,
        )
    elif plan.get("run.checkpoint.keep") == 1:
        yield Finding(
            route="run.checkpoint.keep",
            note="the last good checkpoint goes while the next is being written",
            help="use 2 or more",
            related=((ROUTE, "saved in the background"),),
            severity=Severity.WARNING,
        )
