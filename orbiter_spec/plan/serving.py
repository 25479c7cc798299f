"""Memory of the models that only serve: a reward model and the teachers of a distillation.

Each is an inference engine that takes its share of a GPU, as the rollout's does: weights, and the KV cache in what they
leave of the share. A reward model without nodes of its own wakes on the training GPUs, in turn with the rollout and
beside what training leaves there; in pools of their own the engines have the GPU to themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orbiter_spec.plan.model import Plan
from orbiter_spec.plan.model_facts import ModelFacts, find_facts
from orbiter_spec.plan.pools import SERVING_TENSOR
from orbiter_spec.plan.sharding import TYPE_BYTES, rollout_weight_bytes

USUAL_SHARE = 0.5
"""verl's own `gpu_memory_utilization` of reward models and teachers."""


@dataclass(frozen=True, slots=True)
class Served:
    """One served model: role and path, the pool it is in, its share of a GPU, its width, and what is known of it."""

    role: str
    path: str
    pool: str
    share: float
    tensor_parallel: int
    type_bytes: float
    facts: ModelFacts | None

    @property
    def weights(self) -> int:
        """Bytes of its weights on one GPU; 0 where nothing is known of the model."""
        if self.facts is None:
            return 0
        return rollout_weight_bytes(self.facts, self.tensor_parallel, 1, 1, self.type_bytes)


def served_models(plan: Plan) -> Iterator[Served]:
    """The reward model and every teacher of `plan`, in that order."""
    if plan.get("rewards.model") is not None:
        own = plan.get("rewards.model.nodes") is not None
        path = str(plan.path("rewards.model.path"))
        yield Served(
            "reward model",
            path,
            "reward_pool" if own else "global_pool",
            float(plan.get("rewards.model.memory_fraction") or USUAL_SHARE),
            int(plan.get("rewards.model.tensor_parallel") or SERVING_TENSOR),
            TYPE_BYTES.get(str(plan.get("rewards.model.dtype") or "bfloat16"), 2),
            find_facts(path),
        )
    for teacher in plan.get("algorithm.distillation.teachers") or ():
        yield Served(
            "teacher" if teacher.name is None else f"teacher {teacher.name}",
            teacher.model,
            "teacher_pool",
            float(teacher.memory_fraction or USUAL_SHARE),
            int(teacher.tensor_parallel or SERVING_TENSOR),
            TYPE_BYTES.get(str(teacher.dtype or plan.get("hardware.rollout.dtype") or "bfloat16"), 2),
            find_facts(teacher.model),
        )
