"""Pass: the reference and the critic follow the actor's engine where the user says nothing else.

verl lets some of their keys follow by interpolation and forgets others; here all follow, so that a setting such as
offload or dtype never holds for one role only by accident.
"""

from __future__ import annotations

from typing import Any

from orbiter_spec.plan.decide import decide
from orbiter_spec.plan.model import Plan

FOLLOWED = (
    "tensor_parallel",
    "pipeline_parallel",
    "virtual_pipeline",
    "context_parallel",
    "expert_parallel",
    "expert_tensor_parallel",
    "sequence_parallel",
    "shard_size",
    "compile",
    "dtype",
    "model_dtype",
    "forward_prefetch",
    "attention_backend",
    "mbridge",
    "vanilla_mbridge",
    "recompute.granularity",
    "recompute.method",
    "recompute.layers",
    "pipeline.first_layers",
    "pipeline.last_layers",
    "pipeline.layout",
    "kernels.attention",
    "kernels.experts",
    "offload.parameters",
    "offload.optimizer",
    "micro_batch.sequences",
    "micro_batch.tokens",
    "micro_batch.dynamic",
)
TAKEN_WHOLE = (
    "attention_backend",
    "recompute.granularity",
    "recompute.method",
    "recompute.layers",
    "pipeline.first_layers",
    "pipeline.last_layers",
    "pipeline.layout",
)
"""Words of a mapping that verl's reference takes from the actor as a whole; one entry of its own would replace it."""

NOT_FOR_REFERENCE = ("offload.optimizer", *TAKEN_WHOLE)
NOT_FOR_CRITIC = ("compile",)
CRITIC_ALSO = ("gradient_checkpointing", "remove_padding")

WHY = "as the actor, by verl's own rule"
VERL_FOLLOWS = ("compile", "micro_batch.tokens", "micro_batch.dynamic")
_PARALLEL = ("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel")
VERL_FOLLOWS_IN = {
    "megatron": (
        *_PARALLEL,
        "virtual_pipeline",
        "expert_tensor_parallel",
        "offload.parameters",
        "mbridge",
        "vanilla_mbridge",
        "packed",
    ),
    "veomni": (
        "shard_size",
        "sequence_parallel",
        "expert_parallel",
        "offload.parameters",
        "kernels.attention",
        "kernels.experts",
    ),
    "torchtitan": (*_PARALLEL, "shard_size", "replicate", "data_parallel"),
}
"""What verl's reference takes from the actor by itself, engine by engine."""


def follow_actor(plan: Plan) -> Plan:
    """Decide the engine settings of the roles that are on; with verl's defaults, only what verl itself lets follow."""
    if plan.get("verl.defaults"):
        return decide(plan, "follow_actor", _as_verl(plan))
    choices: dict[str, tuple[Any, str]] = {}
    if plan.needs_reference:
        choices |= _follow(plan, "reference", NOT_FOR_REFERENCE)
    if plan.needs_critic:
        choices |= _follow(plan, "critic", NOT_FOR_CRITIC)
        also = {name: plan.get(f"hardware.train.{name}") for name in CRITIC_ALSO}
        choices |= {
            f"hardware.critic.{name}": (value, "as the actor") for name, value in also.items() if value is not None
        }
        choices["algorithm.critic.learning_rate"] = (1e-5, "the value head starts untrained")
        choices["algorithm.critic.minibatch"] = (plan.get("algorithm.batch.minibatch"), "as the actor")
    choices |= _rollout_passes(plan)
    return decide(plan, "follow_actor", choices)


def _as_verl(plan: Plan) -> dict[str, tuple[Any, str]]:
    words = (*VERL_FOLLOWS, *VERL_FOLLOWS_IN.get(str(plan.get("hardware.train.engine")), ()))
    choices = _rollout_passes(plan, ("tokens", "dynamic"))
    if plan.needs_reference:
        said = {word: plan.get(f"hardware.train.{word}") for word in words}
        choices |= {f"hardware.reference.{word}": (value, WHY) for word, value in said.items() if value is not None}
    if plan.needs_critic:
        choices["hardware.critic.micro_batch.dynamic"] = (plan.get("hardware.train.micro_batch.dynamic"), WHY)
        choices["algorithm.critic.minibatch"] = (plan.get("algorithm.batch.minibatch"), WHY)
    return choices


def _follow(plan: Plan, role: str, excluded: tuple[str, ...]) -> dict[str, tuple[Any, str]]:
    said = {name: plan.get(f"hardware.train.{name}") for name in FOLLOWED if name not in excluded}
    return {f"hardware.{role}.{name}": (value, "as the actor") for name, value in said.items() if value is not None}


def _rollout_passes(
    plan: Plan, names: tuple[str, ...] = ("sequences", "tokens", "dynamic")
) -> dict[str, tuple[Any, str]]:
    """Log-probabilities of the rollout are computed by the actor, in passes of the same size."""
    said = {name: plan.get(f"hardware.train.micro_batch.{name}") for name in names}
    return {
        f"hardware.rollout.micro_batch.{name}": (value, "as training")
        for name, value in said.items()
        if value is not None
    }
