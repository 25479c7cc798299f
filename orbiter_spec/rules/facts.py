"""What several rules ask of a plan: worker shapes, padded batches, what the user wrote.

Pure functions over a plan. verl's own arithmetic stands behind each: data-parallel size in the engines
(`workers/engine`), padding in `trainer/ppo/v1/trainer_base.py`, replicas in `workers/rollout/replica.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import lcm
from typing import Any

from orbiter_spec.plan.model import Plan

LEFT_OPEN: Mapping[str, int] = {
    "algorithm.batch.prompts": 1024,
    "algorithm.batch.minibatch": 256,
    "hardware.nodes": 1,
    "hardware.gpus_per_node": 8,
    "hardware.rollout.tensor_parallel": 2,
    "hardware.rollout.nodes": 1,
    "hardware.storage_units": 8,
    "agent.limits.prompt_tokens": 512,
    "agent.limits.response_tokens": 512,
}
"""What the target takes where a plan leaves a number open, as plans of imported scripts do."""

SEQUENCE_ENGINES = ("fsdp", "fsdp2", "veomni")
MODEL_ENGINES = ("megatron", "torchtitan")
BEFORE_AMPERE = re.compile(r"^(tesla-)?(v100|t4|p100|p40|k80|m60|rtx-?20\d\d|titan-?(v|xp|rtx)|gtx)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Shape:
    """How one role's workers share a batch: GPUs that work on one sequence, and the copies that are left."""

    shared: int
    data_parallel: int
    sequence_parallel: int

    @property
    def divides(self) -> bool:
        """False when the shared GPUs do not divide the pool; then nothing else about the shape means anything."""
        return self.data_parallel > 0


def shape(plan: Plan, role: str = "train") -> Shape:
    """The shape of `train`, `reference` or `critic`; `data_parallel` is 0 when the pool does not divide."""
    words = ("sequence",) if train_engine(plan) in SEQUENCE_ENGINES else ("tensor", "pipeline", "context")
    sizes = {word: int(plan.get(f"hardware.{role}.{word}_parallel") or 1) for word in words}
    shared = 1
    for size in sizes.values():
        shared *= size
    whole, rest = divmod(plan.gpus, shared)
    return Shape(shared, 0 if rest else whole, sizes.get("sequence", 1))


def number(plan: Plan, route: str) -> int:
    """The whole number under `route`, or what the target takes when it is open."""
    fallback = plan.gpus if route.endswith("gpus_per_node") else 1
    return int(plan.get(route) or LEFT_OPEN.get(route, fallback))


def is_on(plan: Plan, section: str) -> bool:
    """True when something was said in `section` and it is not switched off."""
    said = plan.get(section) is not None or any(route.startswith(f"{section}.") for route in plan.decided)
    return said and plan.get(f"{section}.enabled") is not False


def train_engine(plan: Plan) -> str:
    """Name of the training engine."""
    return str(plan.get("hardware.train.engine") or "fsdp")


def roles(plan: Plan) -> tuple[str, ...]:
    """Roles that run a training engine of their own."""
    with_reference = ("reference",) if plan.needs_reference and not has_lora(plan) else ()
    return ("train", *with_reference, *(("critic",) if plan.needs_critic else ()))


def has_lora(plan: Plan) -> bool:
    """True when adapters are trained; the reference is then the actor without its adapter."""
    return plan.get("agent.model.lora.rank") is not None


def samples(plan: Plan) -> int:
    """Answers per prompt."""
    return int(plan.get("algorithm.batch.samples_per_prompt") or 1)


def separate(plan: Plan) -> bool:
    """True when generation has GPUs of its own; an update then takes one mini-batch at a time."""
    return bool(plan.get("hardware.rollout.placement") == "separate")


def minibatch_sequences(plan: Plan, role: str = "train") -> int:
    """Sequences in one optimiser step over all workers."""
    return minibatch(plan, role) * samples(plan)


def minibatch(plan: Plan, role: str = "train") -> int:
    """Prompts in one optimiser step."""
    own = plan.get("algorithm.critic.minibatch") if role == "critic" else None
    return int(own or number(plan, "algorithm.batch.minibatch"))


def padded_sequences(plan: Plan) -> int:
    """Sequences verl computes in one update, after it has padded the batch to whole mini-batches."""
    prompts = minibatch(plan) if separate(plan) else number(plan, "algorithm.batch.prompts")
    multiple = lcm(max(1, shape(plan).data_parallel), minibatch_sequences(plan))
    if plan.needs_critic:
        multiple = lcm(multiple, minibatch_sequences(plan, "critic"))
    return -(-prompts * samples(plan) // multiple) * multiple


def is_dynamic(plan: Plan, section: str) -> bool:
    """True when `section` (such as `hardware.train`) fills passes by tokens."""
    return bool(plan.get(f"{section}.micro_batch.dynamic", False))


def longest_sequence(plan: Plan) -> int:
    """Tokens of the longest prompt and response together."""
    return number(plan, "agent.limits.prompt_tokens") + number(plan, "agent.limits.response_tokens")


def replica_gpus(plan: Plan) -> int:
    """GPUs of one copy of the inference engine."""
    size = 1
    for word in ("tensor", "data", "pipeline"):
        size *= number(plan, f"hardware.rollout.{word}_parallel")
    return size


def group(plan: Plan) -> bool:
    """True when the advantage compares the answers to one prompt."""
    return plan.get("algorithm.estimator") in (
        "grpo",
        "grpo_vectorized",
        "rloo",
        "rloo_vectorized",
        "opo",
        "gpg",
        "grpo_passk",
        "reinforce_plus_plus_baseline",
    )


def loggers(plan: Plan) -> list[str]:
    """verl's loggers; one may stand alone."""
    named = plan.get("run.log") or []
    return [named] if isinstance(named, str) else list(named)


def has_tools(plan: Plan) -> bool:
    """True when the agent may call tools."""
    return bool(plan.get("agent.tool_config") or plan.get("agent.function_tools") or plan.get("agent.tools"))


def has_own_loop(plan: Plan) -> bool:
    """True when the agent loop is the one that comes along in the compiled folder."""
    return bool(plan.get("agent.environment") or plan.get("agent.tools"))


def written_below(plan: Plan, section: str) -> list[str]:
    """Routes of single values that the user wrote in `section`, in their order."""
    prefix = f"{section}."
    inner = [route for route in plan.given if route.startswith(prefix)]
    return [route for route in inner if not any(other.startswith(f"{route}.") for other in inner)]


def reward_parts(plan: Plan) -> list[Any]:
    """The parts of the reward, in their order."""
    return list(plan.experiment.rewards.parts)


def is_before_ampere(accelerator: str) -> bool:
    """True for GPUs of NVIDIA below compute capability 8.0."""
    return BEFORE_AMPERE.match(accelerator) is not None
