"""quantisation file without a whole path

## What it checks

`hardware.train.quantization.config` and `hardware.rollout.quantization_config` are whole paths.

## Why it matters

They go to the inference engine as they are written, and its servers open them where Ray has put them, on any node:
after the model is loaded the file is not found.

## Bad

```yaml
hardware: {train: {engine: fsdp2, quantization: {mode: w4a16, config: nvfp4.json}}}
```

## Good

```yaml
hardware: {train: {engine: fsdp2, quantization: {mode: w4a16, config: /shared/nvfp4.json}}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

ROUTES = ("hardware.train.quantization.config", "hardware.rollout.quantization_config")


def check(plan: Plan) -> Iterator[Finding]:
    """Look at how the paths begin."""
    for route in ROUTES:
        path = plan.get(route)
        if isinstance(path, str) and path and not path.startswith("/") and "://" not in path:
            yield Finding(
                route=route,
                note=f"{path} is looked for in the folder of a worker",
                help="write the whole path of a file that every node has",
                severity=Severity.WARNING,
            )
