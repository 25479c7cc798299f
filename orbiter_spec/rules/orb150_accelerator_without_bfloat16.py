"""GPU whose inference engine has no bfloat16

## What it checks

On GPUs older than Ampere (V100, T4, P100, RTX 20) `hardware.rollout.dtype` is float16 or float32: bfloat16 is what is
used when it is left out.

## Why it matters

vLLM and SGLang refuse bfloat16 below compute capability 8.0 when their servers start, after the actor is loaded.

## Bad

```yaml
hardware: {accelerator: V100, gpus_per_node: 8, rollout: {dtype: bfloat16}}
agent: {model: {path: Qwen/Qwen2.5-0.5B-Instruct, attention: sdpa}}
```

## Good

```yaml
hardware: {accelerator: V100, gpus_per_node: 8, rollout: {dtype: float16}}
agent: {model: {path: Qwen/Qwen2.5-0.5B-Instruct, attention: sdpa}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

DTYPE = "hardware.rollout.dtype"


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the GPU with the precision that will be used."""
    accelerator, dtype = str(plan.get("hardware.accelerator") or ""), plan.get(DTYPE) or "bfloat16"
    if facts.is_before_ampere(accelerator) and dtype == "bfloat16":
        yield Finding(
            route=DTYPE if DTYPE in plan.given else "hardware.accelerator",
            note=f"{accelerator} is older than Ampere, and the engine computes in {dtype}",
            help=f"write {DTYPE}: float16",
        )
