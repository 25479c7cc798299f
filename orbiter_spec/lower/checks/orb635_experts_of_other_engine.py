"""expert tensor parallelism in the wrong engine

## What it checks

`rollout.moe_tensor_parallel_size` above 1 goes with TensorRT-LLM, where it times `expert_parallel_size` is
`tensor_model_parallel_size`.

## Why it matters

verl asserts it when the rollout is configured, after the actor is loaded.

## Bad

```yaml
actor_rollout_ref.rollout.moe_tensor_parallel_size: 2
```

## Good

```yaml
actor_rollout_ref.rollout.tensor_model_parallel_size: 2
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding

ROLLOUT = "actor_rollout_ref.rollout"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare the sizes."""
    key, engine = f"{ROLLOUT}.moe_tensor_parallel_size", settings.get(f"{ROLLOUT}.name")
    size = settings.get(key) or 1
    if size == 1:
        return
    tensor, experts = (
        settings.get(f"{ROLLOUT}.tensor_model_parallel_size", 2),
        settings.get(f"{ROLLOUT}.expert_parallel_size", 1),
    )
    if engine != "trtllm":
        yield KeyFinding(key, f"{engine} does not have it", "leave it out")
    elif experts > 1 and size * experts != tensor:
        yield KeyFinding(key, f"{size} x {experts} is not {tensor}", f"use {tensor // experts}")
