"""output folder that the nodes do not share

## What it checks

The folder for checkpoints can be written to, and where several nodes train, what one of them writes there the others
see.

## Why it matters

Each node saves the shards of its own workers. Where they do not meet, no checkpoint is whole and resuming fails.

## Bad

```yaml
hardware: {nodes: 2}
algorithm: {batch: {prompts: 256}}
site: {nodes: [{gpus: 8, cpus: 64}, {gpus: 8, cpus: 64}], not_shared: {/data/checkpoints: [10.0.0.7]}}
```

## Good

```yaml
hardware: {nodes: 2}
algorithm: {batch: {prompts: 256}}
site: {nodes: [{gpus: 8, cpus: 64}, {gpus: 8, cpus: 64}]}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.site.nodes import each
from orbiter_spec.rules.site.protocol import Site


def check(plan: Plan, site: Site) -> Iterator[Finding]:
    """Folders that some node cannot write to, or does not see."""
    route = "run.checkpoint.folder" if plan.get("run.checkpoint.folder") is not None else "run.output"
    for (folder, problem), nodes in each(site, lambda node: list(node.unwritable.items())):
        yield Finding(
            route=route, note=f"{folder}: {problem} on {nodes}", help="choose a folder that can be written to"
        )
    nodes_training = facts.number(plan, "hardware.nodes")
    for folder, blind in site.not_shared.items() if nodes_training > 1 else ():
        yield Finding(
            route=route,
            note=f"what another node writes to {folder} is not seen on {', '.join(blind)}",
            help="choose a folder on a file system that all nodes share",
        )
