"""reward model without room

## What it checks

A reward model that is on has GPUs for one replica, in its own pool (`enable_resource_pool`, with nodes and GPUs) or
on the training GPUs; it is a whole number of replicas there; its tokenizer is loaded; a pool is not asked for a model
that is off.

## Why it matters

verl raises when the pool or the model is made. A pool without a model is demanded of Ray and stays empty.

## Bad

```yaml
reward.reward_model.enable: false
reward.reward_model.enable_resource_pool: true
reward.reward_model.nnodes: 1
```

## Good

```yaml
reward.reward_model.enable: true
reward.reward_model.enable_resource_pool: true
reward.reward_model.nnodes: 1
reward.reward_model.model_path: some/reward-model
reward.custom_reward_function.path: reward.py
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding

HOME = "reward.reward_model"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the switches and at the room."""
    pooled, enabled = settings.get(f"{HOME}.enable_resource_pool"), settings.get(f"{HOME}.enable")
    nodes, each = settings.get(f"{HOME}.nnodes", 0), settings.get(f"{HOME}.n_gpus_per_node", 8)
    if pooled:
        for key, value in ((f"{HOME}.nnodes", nodes), (f"{HOME}.n_gpus_per_node", each)):
            if value <= 0:
                yield KeyFinding(key, f"{key} = {value}", f"set {key} to at least 1")
        if not enabled and nodes > 0:
            note = f"{nodes} x {each} GPUs are asked for, and the model is off"
            cure = f"set {HOME}.enable to true, or leave the pool out"
            yield KeyFinding(f"{HOME}.enable_resource_pool", note, cure, severity=Severity.WARNING)
    if enabled:
        gpus = (
            nodes * each if pooled else settings.get("trainer.nnodes", 1) * settings.get("trainer.n_gpus_per_node", 8)
        )
        yield from _model(settings, gpus, bool(pooled))


def _model(settings: Mapping[str, Any], gpus: int, pooled: bool) -> Iterator[KeyFinding]:
    engine = f"{HOME}.rollout"
    size = 1
    for word, default in (("tensor_model", 2), ("data", 1), ("pipeline_model", 1)):
        size *= settings.get(f"{engine}.{word}_parallel_size", default) or 1
    key = f"{engine}.tensor_model_parallel_size"
    if gpus > 0 and (size > gpus or (gpus % size and not pooled)):
        yield KeyFinding(key, f"a replica of {size} GPUs on {gpus}", f"use a size that divides {gpus}")
    elif gpus > 0 and gpus % size:
        note = f"{gpus} GPUs are not a multiple of {size}"
        yield KeyFinding(key, note, f"use a size that divides {gpus}")
    if settings.get(f"{HOME}.model_path") is None:
        yield KeyFinding(f"{HOME}.model_path", "the reward model has no path", f"set {HOME}.model_path")
    if settings.get(f"{engine}.skip_tokenizer_init"):
        note = "verl asserts that the reward model has its tokenizer"
        yield KeyFinding(f"{engine}.skip_tokenizer_init", note, "set it to false")
    custom = settings.get("reward.custom_reward_function.path")
    if settings.get(f"{engine}.name") == "trtllm" and custom is None:
        yield KeyFinding(f"{engine}.name", "TensorRT-LLM cannot score with a classifier", "use vllm or sglang")
