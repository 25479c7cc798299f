"""Pass: the shape of the inference engine.

More replicas generate faster than wider ones, so a replica is as narrow as it can be while its weights leave room for
the KV cache. Its width divides the GPUs of a node and the attention heads, which is what the engines can split.
"""

from __future__ import annotations

from math import gcd
from typing import Any

from orbiter_spec.plan.accelerators import GIB, gpu_bytes
from orbiter_spec.plan.decide import decide
from orbiter_spec.plan.model import Plan
from orbiter_spec.plan.model_facts import ModelFacts
from orbiter_spec.plan.rollout_size import weight_bytes

USUAL_SHARE = 0.5
WEIGHTS_SHARE = 0.5


def shape_rollout(plan: Plan) -> Plan:
    """Decide parallel size and sequence length of the rollout."""
    longest = int(plan.get("agent.limits.prompt_tokens")) + int(plan.get("agent.limits.response_tokens"))
    choices: dict[str, tuple[Any, str]] = {
        "hardware.rollout.tensor_parallel": _tensor_parallel(plan),
        "hardware.rollout.max_sequence_tokens": (longest, "prompt and response limits together"),
    }
    return decide(plan, "shape_rollout", choices)


def _tensor_parallel(plan: Plan) -> tuple[int, str]:
    capacity = gpu_bytes(plan.get("hardware.accelerator"))
    if plan.model is None:
        return 1, "nothing is known about the model's size"
    if plan.on_cpu or capacity is None:
        return 1, "more replicas generate faster while the model fits one GPU"
    share = float(plan.get("hardware.rollout.memory_fraction", USUAL_SHARE))
    room = capacity * share * WEIGHTS_SHARE
    widths = _widths(plan, plan.model)
    width = next((size for size in widths if weight_bytes(plan, plan.model, size) <= room), widths[-1])
    each = weight_bytes(plan, plan.model, width) / GIB
    if width == 1:
        return 1, f"{each:.0f} GiB of weights fit one GPU, and more replicas generate faster"
    return width, f"{each:.0f} GiB of weights on each GPU leave room for the KV cache"


def _widths(plan: Plan, facts: ModelFacts) -> list[int]:
    """Sizes that divide the GPUs of a node, with the rest of the replica, and the heads; the least first."""
    node = int(plan.get("hardware.gpus_per_node", 8))
    if plan.get("hardware.rollout.placement") == "separate":
        node = gcd(node, int(plan.get("hardware.rollout.gpus_per_node", node)))
    other = int(plan.get("hardware.rollout.data_parallel", 1)) * int(plan.get("hardware.rollout.pipeline_parallel", 1))
    return [
        size
        for size in range(1, node + 1)
        if node % (size * other) == 0
        and facts.heads % size == 0
        and (facts.kv_heads % size == 0 or size % facts.kv_heads == 0)
    ] or [1]
