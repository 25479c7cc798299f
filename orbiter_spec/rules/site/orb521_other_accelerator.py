"""accelerators of another type

## What it checks

The devices of the nodes are those that `hardware.accelerator` names.

## Why it matters

Parallel sizes, offload and the memory estimate are decided for the accelerator in the spec.

## Bad

```yaml
hardware: {accelerator: H100-80GB}
site: {nodes: [{gpus: 8, accelerators: [NVIDIA A100-SXM4-40GB]}]}
```

## Good

```yaml
hardware: {accelerator: H100-80GB}
site: {nodes: [{gpus: 8, accelerators: [NVIDIA H100 80GB HBM3]}]}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.site.protocol import Site

MODEL = re.compile(r"(?:RTX|[A-Z]{1,2})?\d+[A-Z]*")
"""What tells one model from another: H100, MI300X, RTX4090."""


def check(plan: Plan, site: Site) -> Iterator[Finding]:
    """Compare names where both are known."""
    said = str(plan.get("hardware.accelerator") or "")
    wanted = MODEL.search(normal(said))
    if wanted is None or plan.on_cpu:
        return
    others = {name for node in site.nodes if node.gpus for name in node.accelerators if not _is(wanted[0], name)}
    if others:
        yield Finding(
            route="hardware.accelerator",
            note=f"the plan is for {said}, and there are {', '.join(sorted(others))}",
            help="name the accelerator that is there",
            severity=Severity.WARNING,
        )


def normal(name: str) -> str:
    """Upper case, and RTX in one piece with its number."""
    return re.sub(r"RTX[ -]?", "RTX", name.upper())


def _is(model: str, name: str) -> bool:
    return re.search(rf"(?<![A-Z0-9]){model}(?![0-9A-Z])", normal(name)) is not None
