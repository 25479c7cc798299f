"""Every family of the language and every capability of verl's registries has a compiled example in specs/.

A family is a question to the compiled settings, so that renaming an example breaks nothing and emptying one does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest

from orbiter_spec.compilation import Compilation
from orbiter_spec.compiler import check
from orbiter_spec.lower.target import load_target
from orbiter_spec.plan.algorithms import PRESETS
from tests.conftest import SPECS

Settings = Mapping[str, Any]
ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
MODEL = "actor_rollout_ref.model"
MEGATRON = f"{ACTOR}.megatron"
TARGET = load_target()


def has(key: str, *values: Any) -> Callable[[Settings], bool]:
    """`key` is set, to one of `values` where some are given."""
    return lambda found: key in found and (not values or found[key] in values)


def below(section: str) -> Callable[[Settings], bool]:
    """Something is set in `section`."""
    return lambda found: any(key.startswith(f"{section}.") for key in found)


def more(key: str, than: float) -> Callable[[Settings], bool]:
    """`key` is a number above `than`."""
    return lambda found: isinstance(found.get(key), (int, float)) and found[key] > than


FAMILIES: Mapping[str, Callable[[Settings], bool]] = {
    "advantage without the deviation": has("algorithm.norm_adv_by_std_in_grpo", False),
    "clip-higher": more(f"{ACTOR}.clip_ratio_high", 0.2),
    "group filtering": has("algorithm.filter_groups.enable", True),
    "overlong penalty": has("reward.reward_kwargs.overlong_buffer_cfg.enable", True),
    "KL in the loss": has(f"{ACTOR}.use_kl_loss", True),
    "KL in the reward": has("algorithm.use_kl_in_reward", True),
    "adaptive KL": has("algorithm.kl_ctrl.type", "adaptive"),
    "entropy bonus": more(f"{ACTOR}.entropy_coeff", 0),
    "rollout correction": has("algorithm.rollout_correction.rollout_is"),
    "rejection of samples": has("algorithm.rollout_correction.rollout_rs"),
    "bypass": has("algorithm.rollout_correction.bypass_mode", True),
    "preference feedback": has("algorithm.use_pf_ppo", True),
    "critic with its own model and rate": has("critic.optim.lr"),
    "critic warm-up": more("trainer.critic_warmup", 0),
    "Ulysses sequence parallel": more(f"{ACTOR}.fsdp_config.ulysses_sequence_parallel_size", 1),
    "offload": has(f"{ACTOR}.fsdp_config.param_offload", True),
    "Megatron tensor parallel": more(f"{MEGATRON}.tensor_model_parallel_size", 1),
    "Megatron pipeline parallel": more(f"{MEGATRON}.pipeline_model_parallel_size", 1),
    "Megatron expert parallel": more(f"{MEGATRON}.expert_model_parallel_size", 1),
    "Megatron offload": has(f"{MEGATRON}.param_offload", True),
    "VeOmni": below(f"{ACTOR}.veomni"),
    "torchtitan": below(f"{ACTOR}.torchtitan"),
    "quantisation-aware training": below(f"{ACTOR}.fsdp_config.qat"),
    "quantised rollout": has(f"{ROLLOUT}.quantization"),
    "colocated asynchronous": has("trainer.v1.trainer_mode", "colocate_async"),
    "separate asynchronous": has("trainer.v1.trainer_mode", "separate_async"),
    "staleness": has("trainer.v1.sampler.max_off_policy_threshold"),
    "lent training GPUs": below("trainer.v1.separate_async.hybrid_rollout"),
    "prefill and decode apart": has(f"{ROLLOUT}.disaggregation.enabled", True),
    "speculative decoding": has(f"{MODEL}.mtp.enable_rollout", True),
    "multi-token prediction in training": has(f"{MODEL}.mtp.enable_train", True),
    "engine arguments": below(f"{ROLLOUT}.engine_kwargs"),
    "chunked prefill": has(f"{ROLLOUT}.enable_chunked_prefill"),
    "tools": has(f"{ROLLOUT}.multi_turn.function_tool_path"),
    "turns": has(f"{ROLLOUT}.multi_turn.max_assistant_turns"),
    "tool format": has(f"{ROLLOUT}.multi_turn.format"),
    "agent loop": has(f"{ROLLOUT}.agent.default_agent_loop"),
    "images": has("data.image_key"),
    "LoRA under FSDP": has(f"{MODEL}.lora_rank"),
    "LoRA under Megatron": has(f"{MODEL}.lora.rank"),
    "own reward function": has("reward.custom_reward_function.path"),
    "reward model on the training GPUs": lambda found: (
        has("reward.reward_model.enable", True)(found)
        and not has("reward.reward_model.enable_resource_pool", True)(found)
    ),
    "reward model in a pool of its own": has("reward.reward_model.enable_resource_pool", True),
    "sandbox": has("reward.sandbox_fusion.url"),
    "one teacher": has("distillation.teacher_models.teacher_model.model_path"),
    "several teachers": lambda found: (
        len({key.split(".")[2] for key in found if key.startswith("distillation.teacher_models.")}) > 1
    ),
    "profiler": has("global_profiler.tool"),
    "tracing": has(f"{ROLLOUT}.trace.backend"),
    "statistics for Prometheus": has(f"{ROLLOUT}.prometheus.enable", True),
    "determinism": has(f"{ROLLOUT}.full_determinism", True),
    "checkpoint contents": has(f"{ACTOR}.checkpoint.save_contents"),
    "resume": has("trainer.resume_mode", "auto"),
    "several loggers": lambda found: len(found.get("trainer.logger", ())) > 1,
    "sampled validation": more(f"{ROLLOUT}.val_kwargs.temperature", 0),
    "CPU": has("trainer.device", "cpu"),
    "several nodes": more("trainer.nnodes", 1),
}
IMPLIED = {"vanilla": "no loss is named", "token-mean": "no aggregation is named"}
SHARED = {"dppo_kl": "dppo_tv"}
"""Losses of one paper: the example of one stands for both."""


@cache
def compiled() -> dict[str, Compilation]:
    return {spec.stem: check(spec) for spec in SPECS}


def examples(family: Callable[[Settings], bool]) -> list[str]:
    return [name for name, state in compiled().items() if state.lowered and family(state.lowered.settings)]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_an_example(family: str) -> None:
    assert examples(FAMILIES[family]), f"no file in specs/ shows: {family}"


@pytest.mark.parametrize("name", PRESETS)
def test_an_algorithm_has_an_example(name: str) -> None:
    assert any(state.experiment and state.experiment.algorithm.name == name for state in compiled().values())


@pytest.mark.parametrize("estimator", TARGET.registry("advantage_estimators"))
def test_an_estimator_has_an_example(estimator: str) -> None:
    assert examples(has("algorithm.adv_estimator", estimator))


@pytest.mark.parametrize("loss", [loss for loss in TARGET.registry("policy_losses") if loss not in IMPLIED])
def test_a_policy_loss_has_an_example(loss: str) -> None:
    assert examples(has(f"{ACTOR}.policy_loss.loss_mode", loss, SHARED.get(loss, loss)))


@pytest.mark.parametrize("how", [how for how in TARGET.registry("loss_aggregations") if how not in IMPLIED])
def test_an_aggregation_has_an_example(how: str) -> None:
    assert examples(has(f"{ACTOR}.loss_agg_mode", how))


@pytest.mark.parametrize("engine", TARGET.registry("rollouts"))
def test_a_rollout_engine_has_an_example(engine: str) -> None:
    assert examples(has(f"{ROLLOUT}.name", engine))


@pytest.mark.parametrize("engine", ["fsdp", "fsdp2", "megatron", "veomni", "torchtitan"])
def test_a_training_engine_has_an_example(engine: str) -> None:
    assert any(state.plan and state.plan.get("hardware.train.engine") == engine for state in compiled().values())


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_an_example_says_when_to_use_it(spec: Any) -> None:
    comment = spec.read_text(encoding="utf-8").splitlines()[1]
    assert comment.startswith("# ") and len(comment) > 20
