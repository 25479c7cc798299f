"""batch that does not come out even over the workers

## What it checks

The numbers as verl will have them, wherever they were written: sizes that share a sequence divide the GPUs, and so do
the rollout's; the mini-batch divides over the workers of the actor and the critic; where passes count sequences the
batch is not smaller than a mini-batch, and micro-batches divide what a worker holds.

## Why it matters

Rules over the plan say this about the words of the language. A number that goes to verl past them is held to the same
here, before workers are built for it.

## Bad

```yaml
data.train_batch_size: 60
actor_rollout_ref.actor.ppo_mini_batch_size: 15
actor_rollout_ref.rollout.n: 1
algorithm.adv_estimator: reinforce_plus_plus
```

## Good

```yaml
data.train_batch_size: 64
actor_rollout_ref.actor.ppo_mini_batch_size: 16
actor_rollout_ref.rollout.n: 1
algorithm.adv_estimator: reinforce_plus_plus
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.sizes import (
    ACTOR,
    REFERENCE,
    ROLLOUT,
    Workers,
    count,
    gpus,
    minibatch,
    padded_rows,
    roles,
    workers,
)

OWN_ENGINES = ("vllm", "sglang", "trtllm")
REPLICA: Mapping[str, int] = {
    "tensor_model_parallel_size": 2,
    "data_parallel_size": 1,
    "pipeline_model_parallel_size": 1,
}


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at each role's workers, then at the batch."""
    total = gpus(settings)
    if total is None:
        return
    yield from _replica(settings, total)
    found = [workers(settings, role) for role in roles(settings)]
    for role in found:
        if role is not None and not role.copies:
            _, key = max((size, key) for key, size in role.sizes.items())
            yield KeyFinding(key, f"{role.shared} GPUs for one sequence do not divide {total}", f"divide {total}")
    if settings.get("trainer.use_v1") is False or None in found or not all(role and role.copies for role in found):
        return
    known = [role for role in found if role is not None]
    for role in known:
        yield from _minibatch(settings, role)
    if not settings.get(f"{ACTOR}.use_dynamic_bsz"):
        yield from _batch(settings, known[0], total)
        yield from _passes(settings, known)


def _replica(settings: Mapping[str, Any], total: int) -> Iterator[KeyFinding]:
    sizes = {f"{ROLLOUT}.{word}": count(settings, f"{ROLLOUT}.{word}", default) for word, default in REPLICA.items()}
    stages = f"{ROLLOUT}.pipeline_model_parallel_size"
    engine = settings.get(f"{ROLLOUT}.name")
    if None in sizes.values():
        return
    tensor, data, _ = (size or 1 for size in sizes.values())
    if (sizes[stages] or 1) > 1 and engine in OWN_ENGINES:
        yield KeyFinding(stages, f"{engine} has {sizes[stages]} stages here", "use 1")
    experts, key = settings.get(f"{ROLLOUT}.expert_parallel_size") or 1, f"{ROLLOUT}.expert_parallel_size"
    if experts != 1 and engine != "trtllm" and experts != tensor * data:
        yield KeyFinding(key, f"{experts} of {tensor * data} GPUs", f"use 1 or {tensor * data}")
    apart = settings.get("actor_rollout_ref.hybrid_engine") is False
    whole = tensor * data * (sizes[stages] or 1)
    if total % whole and not apart:
        key = max(sizes, key=lambda name: sizes[name] or 0)
        yield KeyFinding(key, f"a replica of {whole} GPUs on {total}", f"use sizes whose product divides {total}")


def _minibatch(settings: Mapping[str, Any], role: Workers) -> Iterator[KeyFinding]:
    held = minibatch(settings, role.role)
    if role.role != REFERENCE and held is not None and held % role.copies:
        key = f"{role.role}.ppo_mini_batch_size"
        note = f"{held} sequences over {role.copies} workers"
        yield KeyFinding(key, note, f"use a size that, times the samples, is a multiple of {role.copies}")


def _batch(settings: Mapping[str, Any], actor: Workers, total: int) -> Iterator[KeyFinding]:
    """What verl's `validate_config` asserts where passes count sequences."""
    prompts, small = (
        count(settings, "data.train_batch_size", 1024),
        count(settings, f"{ACTOR}.ppo_mini_batch_size", 256),
    )
    samples, micro = count(settings, f"{ROLLOUT}.n", 1), count(settings, f"{ACTOR}.ppo_micro_batch_size_per_gpu", 1)
    if not (prompts and small and samples and micro):
        return
    megatron = settings.get(f"{ACTOR}.strategy") == "megatron"
    least = actor.copies * micro if megatron else total
    key = "data.train_batch_size"
    if prompts < small:
        yield KeyFinding(key, f"{prompts} prompts, and mini-batches of {small}", f"use at least {small}")
    elif prompts * samples % least:
        yield KeyFinding(key, f"{prompts} x {samples} sequences over {least}", f"use a multiple of {least}")


def _passes(settings: Mapping[str, Any], known: list[Workers]) -> Iterator[KeyFinding]:
    rows, held = padded_rows(settings, known[0].copies), minibatch(settings, ACTOR)
    shares = [(f"{ACTOR}.ppo_micro_batch_size_per_gpu", held, known[0].copies)]
    shares.append((f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu", rows, known[0].copies))
    for role in known:
        dynamic = settings.get(f"{REFERENCE}.log_prob_use_dynamic_bsz", settings.get(f"{ACTOR}.use_dynamic_bsz"))
        if role.role == REFERENCE and not dynamic:
            shares.append((f"{REFERENCE}.log_prob_micro_batch_size_per_gpu", rows, role.copies))
    for key, whole, copies in shares:
        micro = count(settings, key, 1)
        if whole and micro and whole % copies == 0 and (whole // copies) % micro:
            note = f"{whole // copies} sequences of a worker in passes of {micro}"
            yield KeyFinding(key, note, f"use a size that divides {whole // copies}")
