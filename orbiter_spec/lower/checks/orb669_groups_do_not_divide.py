"""groups of workers that do not divide

## What it checks

The numbers as verl will have them, wherever they were written: `fsdp_size` divides the GPUs (under VeOmni those of one
sequence-parallel rank), expert parallelism times its tensor and pipeline parallelism does, a virtual pipeline has a
pipeline, and torchtitan's sizes multiply to the GPUs.

## Why it matters

Groups are made when workers start, on every GPU; torch, Megatron and VeOmni raise there.

## Bad

```yaml
trainer.n_gpus_per_node: 8
actor_rollout_ref.actor.fsdp_config.fsdp_size: 3
```

## Good

```yaml
trainer.n_gpus_per_node: 8
actor_rollout_ref.actor.fsdp_config.fsdp_size: 4
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.sizes import ACTOR, count, gpus, roles

TITAN = (
    "data_parallel_replicate_size",
    "data_parallel_shard_size",
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "context_parallel_size",
)


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at each role's groups."""
    total = gpus(settings)
    for role in roles(settings) if total else ():
        assert total is not None
        engine = str(settings.get(f"{role}.strategy", settings.get(f"{ACTOR}.strategy", "fsdp")))
        if engine in ("fsdp", "fsdp2"):
            home = f"{role}.{'fsdp' if role == 'critic' else 'fsdp_config'}"
            yield from _shards(settings, f"{home}.fsdp_size", total)
        elif engine == "veomni":
            shared = count(settings, f"{role}.veomni.ulysses_parallel_size", 1) or 1
            yield from _shards(settings, f"{role}.veomni.fsdp_size", total // shared)
        elif engine == "megatron":
            yield from _megatron(settings, f"{role}.megatron", total)
        elif engine == "torchtitan":
            yield from _titan(settings, f"{role}.torchtitan", total)


def _shards(settings: Mapping[str, Any], key: str, workers: int) -> Iterator[KeyFinding]:
    size = count(settings, key, 1)
    if size and size < workers and workers % size:
        yield KeyFinding(key, f"shards over {size} of {workers} workers", f"use a divisor of {workers}, or -1 for all")


def _megatron(settings: Mapping[str, Any], home: str, total: int) -> Iterator[KeyFinding]:
    tensor, stages, experts = (
        count(settings, f"{home}.{word}_model_parallel_size", 1) or 1 for word in ("tensor", "pipeline", "expert")
    )
    inner = count(settings, f"{home}.expert_tensor_parallel_size", tensor) or tensor
    if experts > 1 and total % (inner * experts * stages):
        note = f"{inner} x {experts} x {stages} = {inner * experts * stages} does not divide {total} GPUs"
        cure = f"use sizes whose product divides {total}" + (", or expert_tensor_parallel_size: 1" if inner > 1 else "")
        yield KeyFinding(f"{home}.expert_model_parallel_size", note, cure)
    virtual = f"{home}.virtual_pipeline_model_parallel_size"
    chunks = settings.get(virtual)
    if isinstance(chunks, int) and chunks > 1 and stages == 1:
        yield KeyFinding(virtual, f"{chunks} chunks of one stage", "leave it out, or use pipeline stages")


def _titan(settings: Mapping[str, Any], home: str, total: int) -> Iterator[KeyFinding]:
    """A shard size of -1 takes what is left."""
    sizes = {word: settings.get(f"{home}.{word}", 1) for word in TITAN}
    if not any(f"{home}.{word}" in settings for word in TITAN) or not all(
        isinstance(size, int) for size in sizes.values()
    ):
        return
    open_size = sizes["data_parallel_shard_size"] < 0
    product = 1
    for size in sizes.values():
        product *= max(size, 1)
    if product != total and not (open_size and total % product == 0):
        yield KeyFinding(
            f"{home}.data_parallel_shard_size",
            f"{' x '.join(map(str, sizes.values()))} = {product}, and there are {total} GPUs",
            f"use sizes whose product is {total}",
        )
