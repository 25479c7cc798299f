"""From overrides to a spec and back to the same configuration."""

from __future__ import annotations

import math

import pytest

from orbiter_spec.importing.check import check_import
from orbiter_spec.importing.compare import flatten
from orbiter_spec.lower.compose import compose, dump_verl_yaml
from orbiter_spec.lower.overrides import OverrideError, format_override
from tests.importing.helpers import BASE, TARGET, equal, ids, imported

CASES: dict[str, tuple[tuple[str, ...], dict[str, object]]] = {
    "nothing more": ((), {"algorithm.name": "grpo", "algorithm.kl.apply": "none"}),
    "several turns with tools": (
        (
            "actor_rollout_ref.rollout.multi_turn.enable=True",
            "actor_rollout_ref.rollout.multi_turn.max_assistant_turns=5",
            "actor_rollout_ref.rollout.multi_turn.tool_config_path=/config/tools.yaml",
            "actor_rollout_ref.rollout.agent.default_agent_loop=tool_agent",
        ),
        {"agent.turns.max": 5, "agent.loop": "tool_agent"},
    ),
    "separate rollout": (
        (
            "trainer.v1.trainer_mode=separate_async",
            "actor_rollout_ref.rollout.nnodes=2",
            "actor_rollout_ref.rollout.checkpoint_engine.backend=nccl",
            "trainer.v1.separate_async.parameter_sync_step=2",
            "trainer.v1.separate_async.num_warmup_batches=3",
            "trainer.v1.sampler.max_off_policy_threshold=4",
        ),
        {
            "hardware.rollout.placement": "separate",
            "hardware.rollout.nodes": 2,
            "algorithm.staleness.sync_every": 2,
            "algorithm.staleness.warmup_batches": 3,
            "algorithm.staleness.max_versions": 4,
        },
    ),
    "colocated asynchronous": (
        ("trainer.v1.trainer_mode=colocate_async",),
        {"hardware.rollout.asynchronous": True},
    ),
    "dapo": (
        (
            "algorithm.filter_groups.enable=True",
            "algorithm.filter_groups.metric=reward",
            "actor_rollout_ref.actor.clip_ratio_high=0.28",
            "reward.reward_manager.name=dapo",
            "+reward.reward_kwargs.overlong_buffer_cfg.enable=True",
            "+reward.reward_kwargs.overlong_buffer_cfg.len=512",
            "+reward.reward_kwargs.max_resp_len=512",
        ),
        {"algorithm.name": "dapo", "algorithm.overlong.buffer_tokens": 512},
    ),
    "two teachers": (
        (
            "distillation.enabled=True",
            "distillation.nnodes=1",
            "+distillation.teacher_models.math.key=math",
            "+distillation.teacher_models.math.model_path=Qwen/Qwen3-32B",
            "+distillation.teacher_models.math.num_replicas=1",
            "+distillation.teacher_models.math.inference.name=vllm",
            "+distillation.teacher_models.code.key=code",
            "+distillation.teacher_models.code.model_path=Qwen/Qwen3-Coder-30B-A3B-Instruct",
            "+distillation.teacher_models.code.num_replicas=2",
            "+distillation.teacher_models.code.inference.name=sglang",
        ),
        {"algorithm.distillation.nodes": 1},
    ),
    "reward model in a pool of its own": (
        (
            "reward.reward_model.enable=True",
            "reward.reward_model.enable_resource_pool=True",
            "reward.reward_model.nnodes=1",
            "reward.reward_model.n_gpus_per_node=4",
            "reward.reward_model.model_path=Skywork/Skywork-Reward-V2-Llama-3.1-8B",
            "reward.reward_model.rollout.name=vllm",
            "reward.reward_model.rollout.tensor_model_parallel_size=1",
        ),
        {"rewards.model.nodes": 1, "rewards.model.gpus_per_node": 4, "rewards.model.tensor_parallel": 1},
    ),
    "a scorer with arguments": (
        (
            "reward.custom_reward_function.path=/code/reward.py",
            "reward.custom_reward_function.name=score",
            "+reward.custom_reward_function.reward_kwargs.strict=True",
        ),
        {"rewards.scorer": "/code/reward.py:score", "rewards.args|strict": True},
    ),
    "ppo with a critic": (
        ("algorithm.adv_estimator=gae", "critic.model.path=Qwen/Qwen2.5-7B-Instruct", "critic.optim.lr=2e-5"),
        {"algorithm.name": "ppo", "algorithm.critic.learning_rate": 2e-5},
    ),
    "kl in the reward": (
        ("algorithm.use_kl_in_reward=True", "algorithm.kl_ctrl.kl_coef=0.01"),
        {"algorithm.kl.apply": "reward", "algorithm.kl.reward_coefficient": 0.01},
    ),
    "gspo": (
        (
            "actor_rollout_ref.actor.policy_loss.loss_mode=gspo",
            "actor_rollout_ref.actor.loss_agg_mode=seq-mean-token-mean",
            "actor_rollout_ref.actor.clip_ratio_low=3e-4",
            "actor_rollout_ref.actor.clip_ratio_high=4e-4",
        ),
        {"algorithm.name": "gspo"},
    ),
    "relative files": (("data.train_files=data/train.parquet", "trainer.default_local_dir=out"), {}),
    "a name that is none": (("trainer.experiment_name='a b/c'",), {"name": "a-b-c"}),
}


def test_relative_files_stay_as_they_are_and_are_told() -> None:
    found = equal(
        "data.train_files=[data/a.parquet,/data/b.parquet]",
        "reward.custom_reward_function.path=rewards/score.py",
        "reward.custom_reward_function.name=score",
        "actor_rollout_ref.rollout.multi_turn.tool_config_path=config/tools.yaml",
        "actor_rollout_ref.rollout.agent.agent_loop_config_path=loops.yaml",
    )
    told = [problem.message.split()[0] for problem in found.diagnostics if problem.id == "ORB650"]
    assert told == ["data/a.parquet", "rewards/score.py", "config/tools.yaml", "loops.yaml"]
    assert found.hatch["reward.custom_reward_function.path"] == "rewards/score.py"


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    overrides, expected = CASES[name]
    found = equal(*overrides)
    assert {route: found.fields.get(route) for route in expected} == expected


def test_what_repeats_a_default_is_not_said() -> None:
    plain = equal()
    repeated = equal("trainer.balance_batch=True", "actor_rollout_ref.actor.ppo_epochs=1", "algorithm.gamma=1.0")
    assert repeated.fields == plain.fields


def test_what_follows_the_actor_is_not_said_for_the_reference() -> None:
    found = equal(
        "model_engine=megatron",
        "actor_rollout_ref.actor.use_kl_loss=True",
        "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4",
        "actor_rollout_ref.ref.megatron.tensor_model_parallel_size=4",
    )
    assert not [route for route in found.fields if route.startswith("hardware.reference")]


def test_a_role_that_is_off_is_not_said() -> None:
    found = equal("actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=4", "critic.optim.lr=3e-5")
    assert not [route for route in (*found.fields, *found.hatch) if "critic" in route or "ref." in route]
    assert "roles that this run does not have are left out: critic, reference" in str(found.spec_text)


def test_strings_stay_strings() -> None:
    found = equal(
        "algorithm.rollout_correction.rollout_is=token",
        "algorithm.rollout_correction.rollout_is_threshold='0.5_4.0'",
        "algorithm.rollout_correction.rollout_rs='token_k1,seq_max_k2'",
    )
    assert found.fields["algorithm.rollout_correction.threshold"] == "0.5_4.0"


def test_a_complete_yaml() -> None:
    settings = {
        "data.train_files": "/data/train.parquet",
        "actor_rollout_ref.model.path": "Qwen/Qwen3-8B",
        "actor_rollout_ref.rollout.name": "sglang",
        "algorithm.adv_estimator": "rloo",
        "trainer.nnodes": 2,
    }
    config = compose(TARGET, "dp", settings)
    found = imported(dump_verl_yaml(config))
    assert found.original == flatten(config)
    assert check_import(found, TARGET) == []
    assert len(str(found.spec_text).splitlines()) < 40


def test_a_config_name_chooses_the_engine() -> None:
    assert imported("\n".join(BASE), config_name="ppo_megatron_trainer").engine == "megatron"
    command = "python3 -m verl.trainer.main_ppo --config-name ppo_megatron_trainer.yaml " + " ".join(BASE)
    assert imported(command).engine == "megatron"
    assert ids(imported("\n".join(BASE), config_name="my_own")) == ["ORB654"]
    own = imported("\n".join((*BASE, "actor_rollout_ref.ref.megatron.param_offload=True")), config_name="my_own")
    assert (own.engine, ids(own)) == ("megatron", ["ORB654"])


def other(key: str, value: object) -> object:
    """A value of the same kind that is not the default."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value / 2 if value and math.isfinite(value) else 0.25
    if isinstance(value, list):
        return ["a"]
    return {"q": 1} if isinstance(value, dict) else "/z/w"


@pytest.mark.parametrize("engine", ["dp", "megatron", "veomni", "torchtitan"])
def test_any_key_survives(engine: str) -> None:
    """Every eleventh key of the target, changed alone in a run whose roles are all on."""
    roles = (
        f"model_engine={engine}",
        "algorithm.adv_estimator=gae",
        "actor_rollout_ref.actor.use_kl_loss=True",
        "critic.model.path=Qwen/Qwen2.5-7B-Instruct",
    )
    defaults = flatten(compose(TARGET, engine, {}))
    keys = [key for key in defaults if not key.endswith("_target_") and key != "model_engine"]
    for key in keys[::11]:
        try:
            override = format_override(key, other(key, defaults[key]))
        except OverrideError:
            continue
        equal(*roles, override)


@pytest.mark.parametrize("taken_out", ["~trainer.nnodes", "~trainer"])
def test_deletion_of_what_verl_needs_is_told_at_its_line(taken_out: str) -> None:
    found = [item for item in imported("\n".join((*BASE, taken_out))).diagnostics if item.id == "ORB662"]
    assert found
    assert {item.place.line for item in found if item.place is not None} == {len(BASE) + 1}
