"""Megatron roles with different parallel sizes

## What it checks

Under Megatron the reference and the critic have the actor's parallel sizes: tensor, pipeline, context and expert
parallelism.

## Why it matters

The roles share processes, and the first one that is built makes Megatron's groups for all (`_init_device_mesh` returns
where they are there; the critic comes first, then the reference, then the actor). The others do not get the sizes that
they ask for: what was planned for memory and batches does not hold, or the model cannot be built. The critic's sizes
do not follow the actor's by themselves.

## Bad

```yaml
actor_rollout_ref.actor.strategy: megatron
actor_rollout_ref.actor.use_kl_loss: true
actor_rollout_ref.actor.megatron.tensor_model_parallel_size: 4
actor_rollout_ref.ref.megatron.tensor_model_parallel_size: 2
```

## Good

```yaml
actor_rollout_ref.actor.strategy: megatron
actor_rollout_ref.actor.use_kl_loss: true
actor_rollout_ref.actor.megatron.tensor_model_parallel_size: 4
actor_rollout_ref.ref.megatron.tensor_model_parallel_size: 4
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_adapters, uses_critic, uses_reference

ACTOR = "actor_rollout_ref.actor"
SIZES = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
)


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare each role's sizes with the actor's, where they are written."""
    if settings.get(f"{ACTOR}.strategy") != "megatron":
        return
    roles = ["actor_rollout_ref.ref"] if uses_reference(settings) and not uses_adapters(settings) else []
    roles += ["critic"] if uses_critic(settings) and settings.get("critic.strategy") == "megatron" else []
    for role in roles:
        for word in SIZES:
            key, other = f"{role}.megatron.{word}", f"{ACTOR}.megatron.{word}"
            size, wanted = settings.get(key), settings.get(other, 1) or 1
            if size is not None and size != wanted:
                note = f"{size}, and the actor has {wanted} in the same processes"
                yield KeyFinding(key, note, f"use {wanted}", related=((other, f"{wanted}"),), severity=Severity.WARNING)
