"""lent training GPUs that stay where they are

## What it checks

`hybrid_rollout.enable_switch` goes with `hybrid_engine: true` and the trainer mode `separate_async`.

## Why it matters

Without engines on the training GPUs there is nothing to switch; verl says so in one line of the log.

## Bad

```yaml
trainer.v1.separate_async.hybrid_rollout.enable_switch: true
actor_rollout_ref.hybrid_engine: false
trainer.v1.trainer_mode: separate_async
data.train_batch_size: 256
actor_rollout_ref.actor.ppo_mini_batch_size: 64
actor_rollout_ref.rollout.nnodes: 1
actor_rollout_ref.rollout.checkpoint_engine.backend: nccl
```

## Good

```yaml
trainer.v1.separate_async.hybrid_rollout.enable_switch: true
actor_rollout_ref.hybrid_engine: true
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

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding

KEY = "trainer.v1.separate_async.hybrid_rollout.enable_switch"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at what the switch needs."""
    if not settings.get(KEY):
        return
    mode = settings.get("trainer.v1.trainer_mode", "sync")
    if mode != "separate_async":
        yield KeyFinding(KEY, f"the trainer mode is {mode}", "leave it out", severity=Severity.WARNING)
    elif settings.get("actor_rollout_ref.hybrid_engine", True) is False:
        note = "hybrid_engine is false: training GPUs have no engine"
        yield KeyFinding(KEY, note, "leave it out, or leave hybrid_engine out", severity=Severity.WARNING)
