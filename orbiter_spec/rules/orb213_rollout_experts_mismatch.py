"""expert parallelism of the rollout is not tensor times data parallelism

## What it checks

`hardware.rollout.expert_parallel` is 1 or the product of `tensor_parallel` and `data_parallel` (vLLM, SGLang). Under
TensorRT-LLM it divides `tensor_parallel`.

## Why it matters

verl builds the rollout configuration after the actor's weights are loaded, and refuses it there.

## Bad

```yaml
hardware: {rollout: {tensor_parallel: 4, expert_parallel: 2}}
```

## Good

```yaml
hardware: {rollout: {tensor_parallel: 4, expert_parallel: 4}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import nearest_divisors

ROUTE = "hardware.rollout.expert_parallel"


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the three sizes."""
    experts, tensor = int(plan.get(ROUTE) or 1), facts.number(plan, "hardware.rollout.tensor_parallel")
    data = int(plan.get("hardware.rollout.data_parallel") or 1)
    if plan.get("hardware.rollout.engine") == "trtllm":
        wrong, usable = tensor % experts != 0, nearest_divisors(tensor, experts)
    else:
        wrong, usable = experts not in (1, tensor * data), f"1 or {tensor * data}"
    if wrong:
        yield Finding(
            route=ROUTE,
            note=f"{experts} with tensor_parallel {tensor} and data_parallel {data}",
            help=f"use {usable}",
            related=(("hardware.rollout.tensor_parallel", f"{tensor} GPUs share each layer"),),
        )
