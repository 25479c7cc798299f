"""delta weight sync beside what it cannot do

## What it checks

With the sync backend `delta_sharded` the rollout is vLLM or SGLang. With vLLM it is in bfloat16, and there is no data
parallelism in the replica, no quantisation, no disaggregation, no speculative decoding, no `verify_every`; under
Megatron there are no adapters and not the legacy bridge.

## Why it matters

verl raises when the inference servers start, or in the first sync.

## Bad

```yaml
trainer.v1.trainer_mode: separate_async
actor_rollout_ref.rollout.nnodes: 1
actor_rollout_ref.rollout.n_gpus_per_node: 8
actor_rollout_ref.rollout.checkpoint_engine.backend: delta_sharded
actor_rollout_ref.rollout.data_parallel_size: 2
```

## Good

```yaml
trainer.v1.trainer_mode: separate_async
actor_rollout_ref.rollout.nnodes: 1
actor_rollout_ref.rollout.n_gpus_per_node: 8
actor_rollout_ref.rollout.checkpoint_engine.backend: delta_sharded
actor_rollout_ref.rollout.data_parallel_size: 1
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_adapters

ROLLOUT = "actor_rollout_ref.rollout"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at what the sync refuses."""
    backend = f"{ROLLOUT}.checkpoint_engine.backend"
    if settings.get(backend) != "delta_sharded":
        return
    verify = f"{ROLLOUT}.checkpoint_engine.engine_kwargs.delta_sharded.verify_every"
    megatron = settings.get("actor_rollout_ref.actor.strategy") == "megatron"
    on_vllm = settings.get(f"{ROLLOUT}.name") == "vllm"
    bridge = "actor_rollout_ref.actor.megatron.vanilla_mbridge"
    drafts, dtype = "actor_rollout_ref.model.mtp.enable_rollout", f"{ROLLOUT}.dtype"
    speculative = settings.get("actor_rollout_ref.model.mtp.enable") and settings.get(drafts)
    refused = (
        (f"{ROLLOUT}.name", settings.get(f"{ROLLOUT}.name") in ("trtllm", "hf")),
        (dtype, on_vllm and settings.get(dtype, "bfloat16") not in ("bfloat16", "auto")),
        (drafts, on_vllm and bool(speculative)),
        (f"{ROLLOUT}.data_parallel_size", on_vllm and settings.get(f"{ROLLOUT}.data_parallel_size", 1) != 1),
        (f"{ROLLOUT}.quantization", on_vllm and settings.get(f"{ROLLOUT}.quantization") is not None),
        (f"{ROLLOUT}.disaggregation.enabled", bool(settings.get(f"{ROLLOUT}.disaggregation.enabled"))),
        (verify, on_vllm and (settings.get(verify) or 0) > 0),
        ("actor_rollout_ref.model.lora.rank", megatron and uses_adapters(settings)),
        (bridge, megatron and bool(settings.get(bridge))),
    )
    for key, wrong in refused:
        if wrong:
            note = f"{key} = {settings.get(key)!r} excludes it"
            yield KeyFinding(key, note, "change it, or use naive or nccl", related=((backend, "delta_sharded"),))
