"""checkpoints of several nodes in a folder of each

## What it checks

A run over several nodes saves to an absolute folder; it has to be on a file system that all nodes share.

## Why it matters

Each node writes the shards of its own workers. In a folder of its own no node finds the others' shards, and resuming
or merging fails.

## Bad

```yaml
hardware: {nodes: 2}
run: {checkpoint: {folder: checkpoints}}
algorithm: {batch: {prompts: 256}}
```

## Good

```yaml
hardware: {nodes: 2}
run: {checkpoint: {folder: /shared/checkpoints}}
algorithm: {batch: {prompts: 256}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look at the folder of a run over several nodes."""
    folder = plan.get("run.checkpoint.folder")
    if (
        folder is None
        or facts.number(plan, "hardware.nodes") == 1
        or str(plan.path("run.checkpoint.folder")).startswith("/")
    ):
        return
    yield Finding(
        route="run.checkpoint.folder",
        note=f"{folder} is relative, and {plan.get('hardware.nodes')} nodes save there",
        help="write an absolute folder that every node can reach",
        related=(("hardware.nodes", "each writes its own shards"),),
        severity=Severity.WARNING,
    )
