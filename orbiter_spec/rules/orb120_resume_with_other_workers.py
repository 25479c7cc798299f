"""checkpoint of another number of workers

## What it checks

A checkpoint that `run.checkpoint.resume` names, where it is on this machine, was written by as many workers as will
read it (FSDP).

## Why it matters

FSDP writes one file for each worker, with the number of workers in its name. Another number finds no files and fails,
after every model is loaded.

## Bad

```yaml
run: {checkpoint: {resume: four-workers/global_step_10}}
```

## Good

```yaml
run: {checkpoint: {resume: four-workers/global_step_10}}
hardware: {gpus_per_node: 4}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Read the number of workers from the file names."""
    route = "run.checkpoint.resume"
    folder = Path(str(plan.path(route))) / "actor"
    if plan.get(route) in ("auto", "never") or facts.train_engine(plan) not in ("fsdp", "fsdp2"):
        return
    try:
        names = [file.name for file in folder.iterdir()]
    except OSError:
        return
    found = {int(match[1]) for name in names if (match := re.match(r"model_world_size_(\d+)_rank", name))}
    if not found or plan.gpus in found:
        return
    workers = max(found)
    yield Finding(
        route=route,
        note=f"{workers} workers wrote it, {plan.gpus} will read it",
        help=f"use {workers} GPUs, or merge the checkpoint and start from it as agent.model",
        related=(("hardware.gpus_per_node", f"{plan.gpus} GPUs in all"),),
    )
