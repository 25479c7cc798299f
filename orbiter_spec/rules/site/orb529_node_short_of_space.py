"""node without room for what the run writes or keeps

## What it checks

The disk of the output folder holds the checkpoints that are kept, and the host memory of each training node what is
offloaded to it.

## Why it matters

A full disk loses the checkpoint that was being written; host memory that runs out kills workers in the first update.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct}
site: {nodes: [{gpus: 8, cpus: 64, free_bytes: {/data: 1000000000}}]}
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct}
site: {nodes: [{gpus: 8, cpus: 64, free_bytes: {/data: 9000000000000}}]}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.site.nodes import each
from orbiter_spec.rules.site.protocol import Node, Site

GIB = 1024**3
LEAST_BYTES = GIB
CURE = "make room, choose another folder, or keep fewer checkpoints"


def check(plan: Plan, site: Site) -> Iterator[Finding]:
    """Compare the plan's own figures with what is there."""
    memory = plan.memory
    one = memory.checkpoint_bytes if memory is not None and plan.get("run.checkpoint.every") else 0
    kept = one * (memory.checkpoints_kept or 1) if memory is not None else 0
    for (folder, free), nodes in each(site, _space):
        if int(free) < max(one, LEAST_BYTES):
            need = f"one checkpoint needs {one / GIB:.1f}" if one > LEAST_BYTES else "a run needs at least 1"
            yield Finding("run.output", f"{folder} has {int(free) / GIB:.1f} GiB free on {nodes}; {need}", CURE)
        elif int(free) < kept:
            note = f"{folder} has {int(free) / GIB:.1f} GiB free on {nodes}; the checkpoints kept need {kept / GIB:.1f}"
            yield Finding("run.output", note, CURE, severity=Severity.WARNING)
    least = memory.host_bytes_low if memory is not None else 0
    small = [node.address for node in site.nodes if node.gpus and (node.memory_bytes or least) < least]
    if small:
        note = f"{least / GIB:.0f} GiB of host memory are needed; less is on {', '.join(small)}"
        yield Finding(
            "hardware.accelerator", note, "offload less, or use nodes with more memory", severity=Severity.WARNING
        )


def _space(node: Node) -> list[tuple[str, str]]:
    return [(folder, str(free)) for folder, free in node.free_bytes.items() if free is not None]
