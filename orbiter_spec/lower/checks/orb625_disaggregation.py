"""prefill and decode that cannot be separated

## What it checks

With `rollout.disaggregation.enabled` the engine is vLLM or SGLang, one replica prefills, at least one decodes, all on
one node and without data or pipeline parallelism; whole replicas fill the training GPUs that they share; the transfer
backend is known and, for vLLM, nixl or mooncake; the port is a port; training GPUs are not lent to generation.

## Why it matters

verl raises when the rollout is configured or its replicas start, after the actor is loaded. A worker on a GPU that no
replica has looks for its server in the first weight sync, and fails.

## Bad

```yaml
actor_rollout_ref.rollout.disaggregation.enabled: true
actor_rollout_ref.rollout.disaggregation.prefill_replicas: 2
```

## Good

```yaml
actor_rollout_ref.rollout.disaggregation.enabled: true
actor_rollout_ref.rollout.disaggregation.decode_replicas: 3
actor_rollout_ref.rollout.tensor_model_parallel_size: 2
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding

ROLLOUT = "actor_rollout_ref.rollout"
HOME = f"{ROLLOUT}.disaggregation"
BACKENDS = ("nixl", "mooncake", "ascend", "mori", "fake")
SWITCH = "trainer.v1.separate_async.hybrid_rollout.enable_switch"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at what the replicas will look at."""
    if not settings.get(f"{HOME}.enabled"):
        return
    engine = settings.get(f"{ROLLOUT}.name")
    if engine not in ("vllm", "sglang"):
        yield KeyFinding(f"{ROLLOUT}.name", f"{engine} cannot separate them", "use vllm or sglang")
    prefill, decode = settings.get(f"{HOME}.prefill_replicas", 1), settings.get(f"{HOME}.decode_replicas")
    decode = 1 if decode is None else decode
    if prefill != 1:
        yield KeyFinding(f"{HOME}.prefill_replicas", f"{prefill} replicas prefill", "use 1")
    if decode < 1:
        yield KeyFinding(f"{HOME}.decode_replicas", f"{decode} replicas decode", "use 1 or more")
    for word in ("data_parallel_size", "pipeline_model_parallel_size"):
        if settings.get(f"{ROLLOUT}.{word}", 1) != 1:
            yield KeyFinding(f"{ROLLOUT}.{word}", f"{settings.get(f'{ROLLOUT}.{word}')} here", "use 1")
    yield from _transfer(settings, str(engine))
    yield from _room(settings, prefill, decode)
    if settings.get(SWITCH) and settings.get("trainer.v1.trainer_mode") == "separate_async":
        yield KeyFinding(SWITCH, "training GPUs cannot be lent to separated replicas", "set it to false")


def _transfer(settings: Mapping[str, Any], engine: str) -> Iterator[KeyFinding]:
    usable = BACKENDS[:2] if engine == "vllm" else BACKENDS
    backend, port = settings.get(f"{HOME}.transfer_backend", "nixl"), settings.get(f"{HOME}.bootstrap_port")
    if backend not in usable:
        yield KeyFinding(f"{HOME}.transfer_backend", f"{backend!r} is none of them", f"use {', '.join(usable)}")
    if port is not None and not 0 < port < 65536:
        yield KeyFinding(f"{HOME}.bootstrap_port", f"{port} is no port", "use 1 to 65535, or null")


def _room(settings: Mapping[str, Any], prefill: int, decode: int) -> Iterator[KeyFinding]:
    tensor = settings.get(f"{ROLLOUT}.tensor_model_parallel_size") or 2
    inner = settings.get(f"{HOME}.decode_tensor_model_parallel_size") or tensor
    each = settings.get("trainer.n_gpus_per_node", 8)
    whole = tensor * prefill + inner * decode
    if prefill != 1 or decode < 1:
        return
    if whole > each:
        note = f"{tensor} x {prefill} + {inner} x {decode} = {whole} GPUs on a node of {each}"
        cure = f"use at most {(each - tensor) // inner} replicas that decode"
        yield KeyFinding(f"{HOME}.decode_replicas", note, cure)
    elif settings.get("actor_rollout_ref.hybrid_engine") is not False:
        total = each * settings.get("trainer.nnodes", 1)
        if total % whole:
            note = f"replicas of {whole} GPUs leave {total % whole} of {total} without one"
            sizes = {count: tensor + inner * count for count in range(1, each)}
            fitting = [str(count) for count, size in sizes.items() if size <= each and total % size == 0]
            cure = f"use {' or '.join(fitting)}" if fitting else f"use sizes that add up to a divisor of {total}"
            yield KeyFinding(f"{HOME}.decode_replicas", note, cure)
