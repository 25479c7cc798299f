"""Pass: the shape of the inference engine."""

from __future__ import annotations

from typing import Any

from orbiter_spec.plan.decide import decide
from orbiter_spec.plan.model import Plan


def shape_rollout(plan: Plan) -> Plan:
    """Decide parallel size, memory share and sequence length of the rollout."""
    longest = int(plan.get("agent.limits.prompt_tokens")) + int(plan.get("agent.limits.response_tokens"))
    choices: dict[str, tuple[Any, str]] = {
        "hardware.rollout.tensor_parallel": (1, "more replicas generate faster while the model fits one GPU"),
        "hardware.rollout.max_sequence_tokens": (longest, "prompt and response limits together"),
    }
    if not plan.on_cpu:
        share, why = _memory_share(plan)
        choices["hardware.rollout.memory_fraction"] = (share, why)
    return decide(plan, "shape_rollout", choices)


def _memory_share(plan: Plan) -> tuple[float, str]:
    if plan.get("hardware.rollout.placement") == "separate":
        return 0.85, "the GPUs only generate"
    return 0.5, "training state stays beside it on the same GPU"
