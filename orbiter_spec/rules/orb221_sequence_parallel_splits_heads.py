"""sequence parallelism does not divide the attention heads

## What it checks

`sequence_parallel` (Ulysses) divides the model's attention heads, and divides the key-value heads or is a multiple of
them.

## Why it matters

Each GPU takes whole heads during attention. verl asserts it when the model is patched, after loading.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct}
hardware: {train: {sequence_parallel: 8}}
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct}
hardware: {train: {sequence_parallel: 4}}
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
    """Compare sequence-parallel sizes with the heads."""
    known = model_facts(plan)
    if not known.heads or facts.train_engine(plan) not in facts.SEQUENCE_ENGINES:
        return
    heads, kv_heads = known.heads, known.kv_heads or known.heads
    for role in facts.roles(plan):
        route = f"hardware.{role}.sequence_parallel"
        size = int(plan.get(route) or 1)
        if role != "train" and (route not in plan.given or _has_other_model(plan, role)):
            continue
        if heads % size == 0 and (kv_heads % size == 0 or size % kv_heads == 0):
            continue
        usable = [
            value
            for value in divisors(plan.gpus)
            if heads % value == 0 and (kv_heads % value == 0 or value % kv_heads == 0)
        ]
        yield Finding(
            route=route,
            note=f"{heads} heads ({kv_heads} for keys and values) over {size} GPUs",
            help=f"use {nearest_fitting(usable, size)}",
            related=(("agent.model.path", f"{heads} attention heads"),),
        )


def _has_other_model(plan: Plan, role: str) -> bool:
    """True for a critic that does not begin as the policy; nothing is known of its heads."""
    return role == "critic" and plan.get("algorithm.critic.model.path") not in (None, plan.get("agent.model.path"))
