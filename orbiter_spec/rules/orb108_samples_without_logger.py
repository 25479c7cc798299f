"""validation answers that no logger takes

## What it checks

With `run.evaluate.log_samples` above 0, `run.log` has a logger that shows them.

## Why it matters

The console and the file logger take numbers only. The answers are dropped, without a word.

## Bad

```yaml
run: {log: [console], evaluate: {log_samples: 8}}
```

## Good

```yaml
run: {log: [console, tensorboard], evaluate: {log_samples: 8}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

SHOWING = ("wandb", "swanlab", "mlflow", "trackio", "clearml", "tensorboard", "vemlp_wandb")


def check(plan: Plan) -> Iterator[Finding]:
    """Look for one logger that shows text."""
    loggers = facts.loggers(plan)
    if not plan.get("run.evaluate.log_samples") or any(name in SHOWING for name in loggers):
        return
    yield Finding(
        route="run.evaluate.log_samples",
        note=f"none of {', '.join(loggers)} shows text",
        help=f"add one of {', '.join(SHOWING)} to run.log; every answer is in validation/ as well",
        related=(("run.log", "the loggers"),),
        severity=Severity.WARNING,
    )
