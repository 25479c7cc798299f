"""tensor parallelism does not divide the attention heads

## What it checks

`hardware.rollout.tensor_parallel`, and under Megatron `hardware.train.tensor_parallel`, divide the model's attention
heads; the key-value heads divide it or are divided by it.

## Why it matters

The engines split attention by heads. vLLM refuses another number when it starts, after the actor is loaded.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct}
hardware: {rollout: {tensor_parallel: 8}}
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct}
hardware: {rollout: {tensor_parallel: 4}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.model_facts import model_facts
from orbiter_spec.rules.numbers import divisors, nearest_fitting


def check(plan: Plan) -> Iterator[Finding]:
    """Compare tensor-parallel sizes with the heads."""
    known = model_facts(plan)
    if not known.heads:
        return
    sections = ["rollout", *(["train"] if facts.train_engine(plan) == "megatron" else [])]
    for section in sections:
        route = f"hardware.{section}.tensor_parallel"
        size = int(plan.get(route) or 1)
        usable = [value for value in divisors(known.heads) if _splits(value, known.heads, known.kv_heads)]
        if size in usable:
            continue
        fitting = [value for value in usable if plan.gpus % value == 0]
        yield Finding(
            route=route,
            note=f"{known.heads} heads ({known.kv_heads} for keys and values) over {size} GPUs",
            help=f"use {nearest_fitting(fitting, size)}",
            related=(("agent.model.path", f"{known.heads} attention heads"),),
        )


def _splits(size: int, heads: int, kv_heads: int | None) -> bool:
    return heads % size == 0 and (not kv_heads or kv_heads % size == 0 or size % kv_heads == 0)
