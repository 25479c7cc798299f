"""Memory of reward models and teachers, beside the actor's or in pools of their own."""

from __future__ import annotations

from typing import Any

import pytest

from orbiter_spec.plan.model import Memory, Phase
from tests.rules.conftest import plan_of

GIB = 1024**3
BASE: dict[str, Any] = {
    "agent": {"model": "Qwen/Qwen2.5-7B-Instruct"},
    "hardware": {"accelerator": "H100-80GB", "gpus_per_node": 8},
}
JUDGE = "Qwen/Qwen2.5-14B-Instruct"


def memory_of(**sections: Any) -> Memory:
    memory = plan_of({**BASE, **sections}).memory
    assert memory is not None
    return memory


def phase_of(memory: Memory, name: str) -> Phase:
    [phase] = [phase for phase in memory.phases if phase.name == name]
    return phase


def judge(**said: Any) -> dict[str, Any]:
    return {"parts": ["rewards.py:score"], "model": {"path": JUDGE, **said}}


def bytes_of(phase: Phase, role: str, kind: str) -> int:
    return sum(use.expected for use in phase.uses if (use.role, use.kind) == (role, kind))


def test_a_judge_of_its_own_pool_has_the_gpu_to_itself() -> None:
    phase = phase_of(memory_of(rewards=judge(nodes=1, tensor_parallel=2)), "reward model")
    assert phase.pool == "reward_pool"
    assert {use.role for use in phase.uses} == {"reward model", "engine"}
    assert bytes_of(phase, "reward model", "weights") == pytest.approx(
        14.77e9, rel=0.01
    )  # 14.77 billion, 2 bytes, 2 GPUs


def test_a_judge_on_the_training_gpus_stands_beside_the_actor() -> None:
    memory = memory_of(rewards=judge())
    phase = phase_of(memory, "reward model")
    assert phase.pool == "global_pool"
    assert bytes_of(phase, "actor", "resident state") > 0
    weights, cache = (bytes_of(phase, "reward model", kind) for kind in ("weights", "KV cache"))
    assert weights + cache == pytest.approx((memory.gpu_bytes or 0) * 0.5, rel=0.001)


def test_a_judge_too_large_for_its_share_does_not_fit() -> None:
    large = {"parts": ["rewards.py:score"], "model": {"path": "Qwen/Qwen2.5-72B-Instruct", "nodes": 1}}
    memory = memory_of(rewards=large)
    assert memory.verdict == "does not fit"
    assert memory.reason.startswith("reward model: weights take 67.")
    assert memory_of(rewards={**large, "model": {**large["model"], "tensor_parallel": 8}}).verdict == "fits"


def test_each_teacher_has_a_phase() -> None:
    teachers = [
        {"model": JUDGE, "name": "one", "key": "a"},
        {"model": "Qwen/Qwen2.5-7B-Instruct", "name": "two", "key": "b"},
    ]
    memory = memory_of(algorithm={"name": "grpo", "distillation": {"teachers": teachers, "gpus_per_node": 4}})
    sizes = [bytes_of(phase_of(memory, f"teacher {name}"), f"teacher {name}", "weights") for name in ("one", "two")]
    assert sizes[0] > 1.9 * sizes[1] > 0
    assert phase_of(memory, "teacher one").pool == "teacher_pool"


def test_an_unknown_judge_is_named() -> None:
    memory = memory_of(rewards={"parts": ["rewards.py:score"], "model": "nobody/knows"})
    assert any("nobody/knows" in line for line in memory.assumptions)
    assert bytes_of(phase_of(memory, "reward model"), "reward model", "weights and KV cache") > 0


def test_a_critic_nobody_knows_is_named() -> None:
    memory = memory_of(algorithm={"name": "ppo", "critic": {"model": {"path": "nobody/critic"}}})
    assert any("nobody/critic" in line for line in memory.assumptions)
    own = memory_of(algorithm={"name": "ppo", "critic": {"model": {"path": JUDGE}}})
    same = memory_of(algorithm={"name": "ppo"})
    weights = [bytes_of(phase_of(memory, "critic update"), "critic", "weights") for memory in (own, same)]
    assert weights[0] > 1.8 * weights[1]
