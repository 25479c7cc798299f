"""separate trainer with batches that do not come out even

## What it checks

With `separate_async` the batch is `parameter_sync_step` mini-batches, the rollout has nodes and GPUs, its weights do
not travel by the `naive` backend, and a reward model has a pool of its own.

## Why it matters

The trainer asserts each when it is made, once Ray and the task runner are up.

## Bad

```yaml
trainer.v1.trainer_mode: separate_async
data.train_batch_size: 256
actor_rollout_ref.actor.ppo_mini_batch_size: 256
actor_rollout_ref.rollout.nnodes: 1
actor_rollout_ref.rollout.checkpoint_engine.backend: nccl
```

## Good

```yaml
trainer.v1.trainer_mode: separate_async
data.train_batch_size: 256
actor_rollout_ref.actor.ppo_mini_batch_size: 64
actor_rollout_ref.rollout.nnodes: 1
actor_rollout_ref.rollout.checkpoint_engine.backend: nccl
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding

ROLLOUT = "actor_rollout_ref.rollout"
STEP = "trainer.v1.separate_async.parameter_sync_step"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at what the separate trainer asserts."""
    if settings.get("trainer.v1.trainer_mode") != "separate_async":
        return
    prompts, minibatch = settings.get("data.train_batch_size", 1024), settings.get(MINIBATCH, 256)
    steps = settings.get(STEP, 4)
    if prompts != steps * minibatch:
        cure = (
            f"set {STEP} to {prompts // minibatch}" if prompts % minibatch == 0 else f"use {steps * minibatch} prompts"
        )
        note = f"{prompts} prompts are not {steps} mini-batches of {minibatch}"
        yield KeyFinding("data.train_batch_size", note, cure, related=((MINIBATCH, f"{minibatch}"), (STEP, f"{steps}")))
    for key, least in ((f"{ROLLOUT}.nnodes", 0), (f"{ROLLOUT}.n_gpus_per_node", 8)):
        if settings.get(key, least) <= 0:
            yield KeyFinding(key, f"{key} = {settings.get(key, least)}", f"set {key} to at least 1")
    backend = f"{ROLLOUT}.checkpoint_engine.backend"
    if settings.get(backend, "naive") == "naive":
        yield KeyFinding(backend, "naive copies weights on the same GPU", "use nccl")
    model = "reward.reward_model"
    if settings.get(f"{model}.enable") and not settings.get(f"{model}.enable_resource_pool"):
        note = "the reward model would share GPUs that never pause"
        yield KeyFinding(f"{model}.enable_resource_pool", note, f"set {model}.enable_resource_pool to true, with nodes")


MINIBATCH = "actor_rollout_ref.actor.ppo_mini_batch_size"
