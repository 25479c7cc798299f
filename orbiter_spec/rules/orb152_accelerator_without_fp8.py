"""fp8 on a GPU that does not compute in it

## What it checks

`hardware.rollout.quantization: fp8` goes with Ada, Hopper or a later GPU.

## Why it matters

Before Turing (V100, P100) the engine refuses fp8 when its servers start, after the actor is loaded. Turing and Ampere
(T4, A100, RTX 30) keep the weights in fp8 and compute in 16 bits: memory is saved, and nothing gets faster.

## Bad

```yaml
hardware: {accelerator: A100-80GB, gpus_per_node: 8, rollout: {quantization: fp8}}
```

## Good

```yaml
hardware: {accelerator: H100, gpus_per_node: 8, rollout: {quantization: fp8}}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

ROUTE = "hardware.rollout.quantization"
REFUSED = re.compile(r"^(tesla-)?(v100|p100|p40|k80|m60|titan-?(v|xp)|gtx)", re.IGNORECASE)
WEIGHTS_ONLY = re.compile(
    r"^(tesla-)?(t4|rtx-?20\d\d|titan-?rtx|a100|a800|a40|a30|a10g?|a6000|rtx-?30\d\d)(?!\d)", re.IGNORECASE
)


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the GPU with what fp8 needs."""
    accelerator = str(plan.get("hardware.accelerator") or "")
    refused = REFUSED.match(accelerator) is not None
    if plan.get(ROUTE) != "fp8" or not (refused or WEIGHTS_ONLY.match(accelerator)):
        return
    yield Finding(
        route=ROUTE,
        note=f"{accelerator} has no fp8" + ("" if refused else ": weights are stored in it, and computed in 16 bits"),
        help="leave quantization out",
        related=(("hardware.accelerator", accelerator),),
        severity=Severity.ERROR if refused else Severity.WARNING,
    )
