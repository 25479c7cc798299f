"""adapters that do not reach the rollout

## What it checks

Where generation has GPUs of its own (`separate_async`) adapters are merged before they are sent (`model.lora.merge`),
and not gathered layer by layer (`layered_summon`), which stands with adapters of FSDP only. `save_lora_only`
stands with adapters.

## Why it matters

Only the sync between workers that share GPUs sends adapters apart from the weights. Every other one sends the weights
below them: the separate rollout answers with the model that the run began with. With `layered_summon` verl raises in
the first sync.

## Bad

```yaml
trainer.v1.trainer_mode: separate_async
actor_rollout_ref.rollout.nnodes: 1
actor_rollout_ref.rollout.n_gpus_per_node: 8
actor_rollout_ref.model.lora_rank: 32
actor_rollout_ref.rollout.checkpoint_engine.backend: nccl
```

## Good

```yaml
trainer.v1.trainer_mode: separate_async
actor_rollout_ref.rollout.nnodes: 1
actor_rollout_ref.rollout.n_gpus_per_node: 8
actor_rollout_ref.model.lora_rank: 32
actor_rollout_ref.model.lora.merge: true
actor_rollout_ref.rollout.checkpoint_engine.backend: nccl
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding

MODEL, ROLLOUT = "actor_rollout_ref.model", "actor_rollout_ref.rollout"
BACKEND, LAYERED = f"{ROLLOUT}.checkpoint_engine.backend", f"{ROLLOUT}.layered_summon"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare adapters with the way weights travel."""
    megatron = settings.get("actor_rollout_ref.actor.strategy") == "megatron"
    rank = f"{MODEL}.lora.rank" if megatron else f"{MODEL}.lora_rank"
    backend, size = settings.get(BACKEND, "naive"), settings.get(rank) or 0
    if settings.get(LAYERED) and (size <= 0 or megatron):
        note = "Megatron gathers its adapters otherwise" if megatron else "there are no adapters"
        yield KeyFinding(LAYERED, f"{note}, so nothing reads it", "leave it out", severity=Severity.WARNING)
    apart = settings.get("trainer.v1.trainer_mode") == "separate_async"
    only = "actor_rollout_ref.actor.checkpoint.save_lora_only"
    if settings.get(only) and size <= 0:
        yield KeyFinding(only, "there are no adapters to save alone", "leave it out", severity=Severity.WARNING)
    if size <= 0 or not apart or backend == "naive" or settings.get(f"{MODEL}.lora.merge"):
        return
    related = ((BACKEND, f"{backend}"),)
    if settings.get(LAYERED) and not megatron:
        yield KeyFinding(LAYERED, f"{backend} asks for the weights below", "leave it out", related=related)
    note = f"{backend} sends the weights below {size} ranks of adapters"
    yield KeyFinding(rank, note, f"set {MODEL}.lora.merge to true", related=related, severity=Severity.WARNING)
