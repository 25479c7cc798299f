"""Pass: how a GPU is shared between training and generation.

Offload costs a copy over PCIe in every step, so it is switched on only when the plan would not fit without: first the
optimiser, which only the update needs, then the weights too. The rollout's share is what the training state that stays
on the GPU leaves of it, with a margin for the moment in which weights are synced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from orbiter_spec.plan.accelerators import GIB, gpu_bytes
from orbiter_spec.plan.decide import decide
from orbiter_spec.plan.memory import FITS, TOO_LARGE, estimate_memory
from orbiter_spec.plan.model import Decision, Memory, Plan
from orbiter_spec.plan.model_facts import ModelFacts
from orbiter_spec.plan.roles import follow_actor
from orbiter_spec.plan.rollout import USUAL_SHARE
from orbiter_spec.plan.rollout_size import weight_bytes

ROUTE = "hardware.train.offload"
TOKENS = "hardware.train.micro_batch.tokens"
FRACTION = "hardware.rollout.memory_fraction"
TRIALS: tuple[tuple[str, ...], ...] = ((), ("optimizer",), ("optimizer", "parameters"))
MARGIN = 0.1
LEAST_FRACTION, MOST_FRACTION, STEP = 0.2, 0.7, 0.05
ROOMY = 1.5


def share_gpus(plan: Plan) -> Plan:
    """Decide offload and the rollout's share of memory; where nothing fits, offload all that can be."""
    if plan.on_cpu or plan.get("verl.defaults"):
        return plan
    capacity = gpu_bytes(plan.get("hardware.accelerator"))
    if plan.model is None or capacity is None:
        return decide(plan, "share_gpus", {FRACTION: (USUAL_SHARE, "training state stays beside it on the same GPU")})
    shortage, narrow = "", None
    for smaller in _budgets(plan):
        for offloaded in TRIALS:
            trial = _trial(smaller, offloaded, capacity, shortage)
            memory = estimate_memory(follow_actor(trial)).memory
            if memory is not None and memory.verdict == FITS:
                if FRACTION in plan.given or _is_roomy(trial, plan.model, capacity):
                    return trial
                narrow = narrow or trial
            shortage = shortage or _shortage(memory)
    return narrow or _trial(plan, TRIALS[-1], capacity, shortage)


def _trial(plan: Plan, offloaded: tuple[str, ...], capacity: int, shortage: str) -> Plan:
    plan = decide(plan, "share_gpus", _offload(offloaded, shortage))
    return decide(plan, "share_gpus", {FRACTION: _share(plan, capacity)})


def _budgets(plan: Plan) -> Iterator[Plan]:
    """The plan, then with half the tokens in a pass and so on, where the budget is ours and holds one sequence."""
    yield plan
    tokens = int(plan.get(TOKENS) or 0)
    longest = sum(int(plan.get(f"agent.limits.{part}_tokens")) for part in ("prompt", "response"))
    least = -(-longest // int(plan.get("hardware.train.sequence_parallel", 1)))
    while TOKENS in plan.decided and tokens // 2 >= least:
        tokens //= 2
        smaller = Decision(TOKENS, tokens, "share_gpus", "larger passes would not fit beside the training state")
        yield replace(plan, decided={**plan.decided, TOKENS: smaller})


def _offload(names: tuple[str, ...], shortage: str) -> dict[str, tuple[Any, str]]:
    return {f"{ROUTE}.{name}": (True, f"without it, {shortage}") for name in names}


def _share(plan: Plan, capacity: int) -> tuple[float, str]:
    """What the training state leaves, in steps of five per cent."""
    memory = estimate_memory(follow_actor(plan)).memory
    resident = sum(use.expected for use in memory.phases[0].uses if use.role != "rollout") if memory else 0
    free = 1 - resident / capacity - MARGIN
    share = min(MOST_FRACTION, max(LEAST_FRACTION, int(free / STEP) * STEP))
    return round(share, 2), f"training keeps {resident / GIB:.0f} GiB of each GPU meanwhile"


def _is_roomy(plan: Plan, facts: ModelFacts, capacity: int) -> bool:
    return float(plan.get(FRACTION)) * capacity >= ROOMY * weight_bytes(plan, facts)


def _shortage(memory: Memory | None) -> str:
    if memory is None or memory.verdict == FITS:
        return "the KV cache would be small"
    return memory.reason if memory.verdict == TOO_LARGE else f"it may not fit ({memory.reason})"
