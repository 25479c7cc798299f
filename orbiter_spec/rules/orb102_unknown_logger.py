"""logger that verl does not know

## What it checks

Every entry of `run.log` is one of verl's loggers.

## Why it matters

Loggers are set up when training begins, after every model is loaded; an unknown one stops the run there.

## Bad

```yaml
run: {log: [console, tensorbord]}
```

## Good

```yaml
run: {log: [console, tensorboard]}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import nearest
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

KNOWN = (
    "wandb",
    "mlflow",
    "swanlab",
    "vemlp_wandb",
    "tensorboard",
    "console",
    "clearml",
    "trackio",
    "file",
    "rl_insight",
    "tracking",
)


def check(plan: Plan) -> Iterator[Finding]:
    """Compare each logger with the known ones."""
    for name in facts.loggers(plan):
        if name in KNOWN:
            continue
        close = nearest(name, KNOWN)
        yield Finding(
            route="run.log",
            note=f"{name!r} is none of them" + (f"; did you mean {close!r}?" if close else ""),
            help=f"use {', '.join(sorted(KNOWN[:-1]))}",
        )
