"""Sizes of the inference engine on one GPU: weights, and the KV cache of a token."""

from __future__ import annotations

from orbiter_spec.plan.model import Plan
from orbiter_spec.plan.model_facts import ModelFacts
from orbiter_spec.plan.sharding import TYPE_BYTES, rollout_weight_bytes


def weight_bytes(plan: Plan, facts: ModelFacts, tensor_parallel: int | None = None) -> int:
    """Bytes of the rollout's weights on one GPU of a replica, under the plan's width or another one."""
    size: float = TYPE_BYTES.get(str(plan.get("hardware.rollout.dtype", "bfloat16")), 2)
    if "fp8" in str(plan.get("hardware.rollout.quantization", "")):
        size = 1
    tensor = tensor_parallel or int(plan.get("hardware.rollout.tensor_parallel", 1))
    pipeline, expert = (int(plan.get(f"hardware.rollout.{name}_parallel", 1)) for name in ("pipeline", "expert"))
    return rollout_weight_bytes(facts, tensor, pipeline, expert, size)


def cache_bytes_per_token(plan: Plan, facts: ModelFacts) -> int:
    """Bytes of KV cache that one token takes on one GPU of a replica; a latent cache is not divided by tensors."""
    tensor, pipeline = (int(plan.get(f"hardware.rollout.{name}_parallel", 1)) for name in ("tensor", "pipeline"))
    kind = TYPE_BYTES.get(str(plan.get("hardware.rollout.dtype", "bfloat16")), 2)
    divided = min(tensor, facts.kv_heads) if facts.cache_width == 2 * facts.kv_heads * facts.head_dim else 1
    return max(1, facts.cache_width * facts.layers * kind // (divided * pipeline))


def least_bytes(plan: Plan, facts: ModelFacts) -> int:
    """Weights and the KV cache of one sequence at its limit: without these the engine does not start."""
    limits = sum(int(plan.get(f"agent.limits.{part}_tokens", 512)) for part in ("prompt", "response"))
    longest = int(plan.get("hardware.rollout.max_sequence_tokens") or limits)
    return weight_bytes(plan, facts) + longest * cache_bytes_per_token(plan, facts)
