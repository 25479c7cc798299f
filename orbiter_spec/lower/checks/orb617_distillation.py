"""distillation that does not fit its teachers

## What it checks

With `distillation.enabled` the pool has nodes and GPUs and holds its teachers exactly, no copy of one over more nodes
than it needs; each teacher has a model and, with several, a key of its own; the loss is one that learns from the
teacher; the teacher's engine holds prompt, response and one token.

## Why it matters

verl builds the teachers after the actor is loaded and raises there.

## Bad

```yaml
distillation.enabled: true
distillation.nnodes: 0
distillation.teacher_models.teacher_model.model_path: Qwen/Qwen2.5-7B-Instruct
```

## Good

```yaml
distillation.enabled: true
distillation.nnodes: 1
distillation.n_gpus_per_node: 8
distillation.teacher_models.teacher_model.model_path: Qwen/Qwen2.5-7B-Instruct
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding

TEACHERS = "distillation.teacher_models."


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the pool, the teachers and the loss."""
    if not settings.get("distillation.enabled"):
        return
    nodes, each = settings.get("distillation.nnodes", 0), settings.get("distillation.n_gpus_per_node", 8)
    for key, value in (("distillation.nnodes", nodes), ("distillation.n_gpus_per_node", each)):
        if value <= 0:
            yield KeyFinding(key, f"{key} = {value}", f"set {key} to at least 1")
    named = (key.removeprefix(TEACHERS).partition(".")[0] for key in settings if key.startswith(TEACHERS))
    names = list(dict.fromkeys(named))
    used = [name for name in names if len(names) == 1 or name != "teacher_model"]
    yield from _loss(settings)
    yield from _teachers(settings, used)
    if nodes > 0 and each > 0:
        yield from _pool(settings, used, nodes * each, each)


def _loss(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    home = "distillation.distillation_loss"
    if settings.get(f"{home}.loss_mode", "k3") == "k1" and not settings.get(f"{home}.use_policy_gradient"):
        note = "the gradient of k1 does not depend on the teacher"
        yield KeyFinding(f"{home}.loss_mode", note, f"use k3, or set {home}.use_policy_gradient")


def _teachers(settings: Mapping[str, Any], names: list[str]) -> Iterator[KeyFinding]:
    seen: dict[Any, str] = {}
    longest = 1 + sum(settings.get(f"data.max_{word}_length") or 512 for word in ("prompt", "response"))
    for name in names:
        home = f"{TEACHERS}{name}"
        if settings.get(f"{home}.model_path") is None:
            yield KeyFinding(f"{home}.model_path", "the teacher has no model", f"set {home}.model_path")
        limit = settings.get(f"{home}.inference.max_model_len")
        if isinstance(limit, int) and limit < longest:
            note = f"{limit} tokens for a prompt, a response and one more: {longest}"
            yield KeyFinding(f"{home}.inference.max_model_len", note, f"use {longest}, or null")
        key = settings.get(f"{home}.key")
        if len(names) > 1 and (key is None or key in seen):
            note = "the teacher has no key" if key is None else f"{key!r} is also {seen[key]}'s"
            yield KeyFinding(f"{home}.key", note, "give each teacher a key of its own")
        seen[key] = name
        yield from _engine(settings, f"{home}.inference.name")
        yield from _experts(settings, f"{home}.inference")


def _experts(settings: Mapping[str, Any], home: str) -> Iterator[KeyFinding]:
    """As for the rollout: expert parallelism is all GPUs of a replica, or 1."""
    experts = settings.get(f"{home}.expert_parallel_size") or 1
    whole = (settings.get(f"{home}.tensor_model_parallel_size") or 2) * (
        settings.get(f"{home}.data_parallel_size") or 1
    )
    if experts not in (1, whole):
        yield KeyFinding(f"{home}.expert_parallel_size", f"{experts} of {whole} GPUs", f"use 1 or {whole}")


def _engine(settings: Mapping[str, Any], key: str) -> Iterator[KeyFinding]:
    """Teachers are served by two engines only (`TRTLLMReplica` refuses one)."""
    name = settings.get(key, "vllm")
    if name not in ("vllm", "sglang", "???", None):
        note = "TensorRT-LLM serves no teacher" if name == "trtllm" else f"{name!r} is no engine"
        yield KeyFinding(key, note, "use vllm or sglang")


def _pool(settings: Mapping[str, Any], names: list[str], gpus: int, each: int) -> Iterator[KeyFinding]:
    """The teachers fill the pool, in the order in which they are written; `each` is a node's GPUs."""
    sizes = {name: _replica(settings, f"{TEACHERS}{name}.inference") for name in names}
    if len(names) == 1:
        replica = sizes[names[0]]
        if gpus % replica:
            note = f"a teacher of {replica} GPUs does not divide {gpus}"
            yield KeyFinding("distillation.n_gpus_per_node", note, f"use a multiple of {replica}")
        else:
            yield from _straddling(names[0], replica, range(0, gpus, replica), each)
        return
    counts = {name: settings.get(f"{TEACHERS}{name}.num_replicas") or 0 for name in names}
    wanted = sum(size * counts[name] for name, size in sizes.items())
    if wanted != gpus:
        note = f"teachers take {wanted} GPUs, the pool has {gpus}"
        yield KeyFinding("distillation.n_gpus_per_node", note, f"use {wanted} GPUs in all")
        return
    start = 0
    for name, size in sizes.items():
        yield from _straddling(name, size, range(start, start + size * counts[name], size), each)
        start += size * counts[name]


def _straddling(name: str, size: int, starts: range, each: int) -> Iterator[KeyFinding]:
    """The first copy that lies over more nodes than its size needs (teacher_loop/teacher_model.py)."""
    needed = -(-size // each)
    for start in starts:
        nodes = (start + size - 1) // each - start // each + 1
        if nodes != needed:
            key = f"{TEACHERS}{name}.inference.tensor_model_parallel_size"
            note = f"its {size} GPUs from {start + 1} on lie on {nodes} nodes of {each}, and fit on {needed}"
            yield KeyFinding(key, note, f"use copies that divide {each}, or write larger teachers first")
            return


def _replica(settings: Mapping[str, Any], home: str) -> int:
    words = ("tensor_model_parallel_size", "data_parallel_size", "pipeline_model_parallel_size")
    size = 1
    for word in words:
        size *= settings.get(f"{home}.{word}", 2 if word.startswith("tensor") else 1) or 1
    return size
