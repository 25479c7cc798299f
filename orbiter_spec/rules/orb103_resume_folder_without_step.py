"""resume folder without a step

## What it checks

`run.checkpoint.resume` is `auto`, `never`, or a folder whose name ends in `global_step_` and a number.

## Why it matters

verl reads the step from the folder's name, after every model is loaded, and fails when there is none.

## Bad

```yaml
run: {checkpoint: {resume: runs/first/checkpoints}}
```

## Good

```yaml
run: {checkpoint: {resume: runs/first/checkpoints/global_step_120}}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from orbiter_spec.diagnostics import nearest
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look for the step in the folder's name."""
    route = "run.checkpoint.resume"
    wish = str(plan.get(route))
    if wish in ("auto", "never") or re.search(r"global_step_\d+$", wish):
        return
    close = nearest(wish, ("auto", "never"))
    inside = re.search(r"^.*global_step_\d+", wish)
    cure = f"write {close}" if close else f"write {inside[0]}" if inside else f"write {wish.rstrip('/')}/global_step_N"
    yield Finding(route=route, note="no global_step_ and number at the end", help=cure)
