"""Teachers in verl's keys. One teacher without a name is verl's `teacher_model`; several stand under their names.

verl drops its own `teacher_model` entry as soon as another is there, and only that entry has defaults, so a named
teacher is written out with what verl cannot guess: the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.emit import Emit, leaves
from orbiter_spec.plan.model import Plan

TEACHERS = "distillation.teacher_models"
DEFAULT_NAME = "teacher_model"
ROUTE = "algorithm.distillation.teachers"
TEACHER_WORDS: Mapping[str, str] = {
    "key": "key",
    "model": "model_path",
    "replicas": "num_replicas",
    "engine": "inference.name",
    "tensor_parallel": "inference.tensor_model_parallel_size",
    "data_parallel": "inference.data_parallel_size",
    "memory_fraction": "inference.gpu_memory_utilization",
    "dtype": "inference.dtype",
    "temperature": "inference.temperature",
    "max_sequence_tokens": "inference.max_model_len",
    "max_batched_tokens": "inference.max_num_batched_tokens",
    "max_sequences": "inference.max_num_seqs",
}


def lower_distillation(plan: Plan) -> Iterator[Emit]:
    """Every teacher of `algorithm.distillation`, and the switch that turns it on."""
    teachers = plan.get(ROUTE)
    if not teachers:
        return
    yield Emit("distillation.enabled", True, ROUTE)
    if plan.get("algorithm.distillation.nodes") is None:
        yield Emit("distillation.nnodes", 1, ROUTE)
    for index, teacher in enumerate(teachers):
        yield from _teacher(plan, teacher, f"{ROUTE}[{index}]")


def _teacher(plan: Plan, teacher: Any, route: str) -> Iterator[Emit]:
    home = f"{TEACHERS}.{teacher.name or DEFAULT_NAME}"
    for word, key in TEACHER_WORDS.items():
        value = getattr(teacher, word)
        if value is not None:
            yield Emit(
                f"{home}.{key}", plan.path(f"{route}.model") or value if word == "model" else value, f"{route}.{word}"
            )
    if teacher.cuda_graphs is not None:
        yield Emit(f"{home}.inference.enforce_eager", not teacher.cuda_graphs, f"{route}.cuda_graphs")
    engine = teacher.engine or plan.get("hardware.rollout.engine")
    if teacher.name is not None and teacher.engine is None:
        yield Emit(f"{home}.inference.name", engine, route)
    if teacher.name is not None and teacher.replicas is None:
        yield Emit(f"{home}.num_replicas", 1, route)
    for name, value in leaves(teacher.engine_args or {}):
        yield Emit(f"{home}.inference.engine_kwargs.{engine}.{name}", value, f"{route}.engine_args")
