"""checkpoint that cannot be resumed whole

## What it checks

`run.checkpoint.contents` has `model`, `optimizer` and `extra`, where checkpoints are saved; `load` asks for nothing
that is not saved.

## Why it matters

A resumed run goes on with the step it reached. Without the model it goes on with the first weights, without the
optimizer with empty moments, without extra with another learning rate and other random numbers.

## Bad

```yaml
run: {checkpoint: {every: 10, contents: [hf_model]}}
```

## Good

```yaml
run: {checkpoint: {every: 10, contents: [model, optimizer, extra, hf_model]}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

NEEDED = ("model", "optimizer", "extra")


def check(plan: Plan) -> Iterator[Finding]:
    """Compare what is saved with what resuming needs and what is loaded."""
    saved, loaded = plan.get("run.checkpoint.contents"), plan.get("run.checkpoint.load")
    if saved is not None:
        missing = [name for name in NEEDED if name not in saved]
        if missing:
            yield Finding(
                route="run.checkpoint.contents",
                note=f"{' and '.join(missing)} cannot be resumed",
                help=f"write [{', '.join([*NEEDED, *(['hf_model'] if 'hf_model' in saved else [])])}]",
                severity=Severity.WARNING,
            )
    absent = [name for name in loaded or () if name not in (saved or NEEDED)]
    if absent:
        yield Finding(
            route="run.checkpoint.load",
            note=f"{' and '.join(absent)} is not saved",
            help="load what is saved, or leave it out",
            related=(("run.checkpoint.contents", f"saved: {', '.join(saved or NEEDED)}"),),
            severity=Severity.WARNING,
        )
