"""fp8 blocks that tensor parallelism cuts through

## What it checks

With `hardware.rollout.quantization: fp8` each GPU of a replica holds whole blocks of 128 of the model's intermediate
size, its query heads and its key-value heads.

## Why it matters

verl quantises the rollout in blocks of 128 x 128. vLLM and SGLang refuse a weight whose share is no multiple of 128
when their servers start.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-1.5B-Instruct}
hardware: {rollout: {tensor_parallel: 4, quantization: fp8}}
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-1.5B-Instruct}
hardware: {rollout: {tensor_parallel: 2, quantization: fp8}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

BLOCK = 128
ROUTE, KIND = "hardware.rollout.tensor_parallel", "hardware.rollout.quantization"


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the shares with the block."""
    size = int(plan.get(ROUTE) or 1)
    known = plan.model
    if plan.get(KIND) != "fp8" or plan.get("hardware.rollout.engine") not in ("vllm", "sglang"):
        return
    if known is None or size == 1 or known.experts or known.heads % size:
        return
    cut = [f"{whole // size} of {name}" for name, whole in _widths(plan, size) if whole % size or whole // size % BLOCK]
    if not cut:
        return
    usable = [value for value in (1, 2, 4, 8, 16) if value < size and not _cuts(plan, value)]
    yield Finding(
        route=ROUTE,
        note=f"{', '.join(cut)} on a GPU: no multiple of {BLOCK}",
        help=f"use {usable[-1]}" if usable else "leave quantization out",
        related=((KIND, f"blocks of {BLOCK}"),),
    )


def _widths(plan: Plan, size: int) -> list[tuple[str, int]]:
    """Widths that are divided; with fewer key-value heads than GPUs each holds a copy of one."""
    assert plan.model is not None
    values = max(plan.model.kv_heads, size) * plan.model.head_dim
    return [
        (f"{plan.model.intermediate} intermediate", plan.model.intermediate),
        (f"{plan.model.heads * plan.model.head_dim} query numbers", plan.model.heads * plan.model.head_dim),
        (f"{values} key numbers", values),
    ]


def _cuts(plan: Plan, size: int) -> bool:
    return size > 1 and any(whole % size or whole // size % BLOCK for _, whole in _widths(plan, size))
