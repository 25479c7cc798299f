"""quantisation that the engine cannot make

## What it checks

`hardware.rollout.quantization` is fp8, torchao or ascend for vLLM, fp8 for SGLang and TensorRT-LLM.

## Why it matters

verl checks it when the inference server starts, after the actor is loaded.

## Bad

```yaml
hardware: {rollout: {quantization: awq}}
```

## Good

```yaml
hardware: {rollout: {quantization: fp8}}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

KNOWN: Mapping[str, tuple[str, ...]] = {"vllm": ("fp8", "torchao", "ascend"), "sglang": ("fp8",), "trtllm": ("fp8",)}


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the name with the engine's."""
    name, engine = plan.get("hardware.rollout.quantization"), str(plan.get("hardware.rollout.engine"))
    usable = KNOWN.get(engine)
    if name is None or usable is None or name in usable:
        return
    yield Finding(
        route="hardware.rollout.quantization",
        note=f"{engine} has {', '.join(usable)} here",
        help=f"use {' or '.join(usable)}, or leave it out",
        related=(("hardware.rollout.engine", engine),),
    )
