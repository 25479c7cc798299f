"""What a target answers about its keys."""

from __future__ import annotations

import pytest

from orbiter_spec.lower.target import TARGET_VERSIONS, load_target

TARGET = load_target("0.9.1")
ROLLOUT = "actor_rollout_ref.rollout"


@pytest.mark.parametrize("version", TARGET_VERSIONS)
def test_every_target_loads_and_resolves(version: str) -> None:
    target = load_target(version)
    assert {"dp", "megatron", "veomni", "torchtitan"} <= set(target.engines)
    for engine in target.engines:
        assert target.default(engine, "model_engine") == engine
        assert target.default(engine, "trainer.default_local_dir") == "checkpoints/verl_examples/gsm8k"
        assert all(target.has(engine, key) and target.accepts(engine, key) for key in target.keys(engine))


def test_unknown_versions_and_engines() -> None:
    with pytest.raises(KeyError):
        load_target("0.1.0")
    for engine in ("mindspeed", "facts", "../0.9.0/dp"):
        with pytest.raises(KeyError):
            TARGET.tree(engine)


@pytest.mark.parametrize(
    ("engine", "key", "has", "accepts"),
    [
        ("dp", f"{ROLLOUT}.n", True, True),
        ("dp", ROLLOUT, True, True),
        ("dp", f"{ROLLOUT}.enable_sleep_mode", False, True),
        ("dp", f"{ROLLOUT}.engine_kwargs.vllm.max_model_len", False, True),
        ("dp", "actor_rollout_ref.model.override_config.attn_implementation", False, True),
        ("dp", "actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype", False, True),
        ("dp", "reward.custom_reward_function.reward_kwargs.x", False, True),
        ("dp", "trainer.v1.sampler.sampler_kwargs.x.y", False, True),
        ("dp", "ray_kwargs.ray_init.address", False, True),
        ("dp", "distillation.teacher_models.math.model_path", False, True),
        ("dp", "global_profiler.global_tool_config.torch_memory.kw_args.x", False, True),
        ("megatron", "actor_rollout_ref.actor.megatron.override_transformer_config.x", False, True),
        ("dp", "actor_rollout_ref.actor.megatron.tensor_model_parallel_size", False, False),
        ("megatron", "actor_rollout_ref.actor.megatron.grad_offload", False, False),
        ("dp", f"{ROLLOUT}.n.x", False, False),
        ("dp", "actor_rollout_ref.actor.policy_loss.tau_pos", False, False),
        ("dp", "data.reward_fn", False, False),
        ("dp", "", False, False),
    ],
)
def test_known_keys(engine: str, key: str, has: bool, accepts: bool) -> None:
    assert TARGET.has(engine, key) is has
    assert TARGET.accepts(engine, key) is accepts


def test_describe_a_key_of_the_yaml() -> None:
    found = TARGET.describe("dp", f"{ROLLOUT}.multi_turn.max_user_turns")
    assert found.default is None
    assert found.type == "Optional[int]"
    assert "no limit" in found.doc
    assert found.engines == TARGET.engines
    assert found.in_yaml


def test_describe_a_key_beyond_the_yaml_and_of_one_engine() -> None:
    found = TARGET.describe("dp", f"{ROLLOUT}.enable_sleep_mode")
    assert (found.default, found.code_default, found.type, found.in_yaml) == (None, "True", "bool", False)
    assert TARGET.describe("megatron", "actor_rollout_ref.actor.megatron.use_mbridge").engines == ("megatron",)
    with pytest.raises(KeyError):
        TARGET.describe("dp", "actor_rollout_ref.actor.megatron.use_mbridge")


def test_defaults_are_resolved_and_copies() -> None:
    assert TARGET.default("dp", f"{ROLLOUT}.prompt_length") == 512
    TARGET.default("dp", "trainer.logger").append("x")
    assert TARGET.default("dp", "trainer.logger") == ["console", "wandb"]
    with pytest.raises(KeyError):
        TARGET.default("dp", "trainer.nothing")


def test_registries() -> None:
    assert {"gae", "grpo", "optimal_token_baseline", "remax"} <= set(TARGET.registry("advantage_estimators"))
    assert {"vanilla", "gspo", "cispo", "kl_cov", "clip_cov"} <= set(TARGET.registry("policy_losses"))
    assert {"naive", "dapo", "gdpo", "remote", "rate_limited"} == set(TARGET.registry("reward_managers"))
    assert {"k1", "low_var_kl", "full"} <= set(TARGET.registry("kl_estimators"))
    assert "token-mean" in TARGET.registry("loss_aggregations")
    assert TARGET.registry("rollouts") == ("sglang", "trtllm", "vllm")
    assert TARGET.registry("trainer_modes") == ("colocate_async", "separate_async", "sync")
    with pytest.raises(KeyError, match="policy_losses"):
        TARGET.registry("losses")


@pytest.mark.parametrize(
    ("key", "close"),
    [
        (f"{ROLLOUT}.gpu_memory_utilisation", f"{ROLLOUT}.gpu_memory_utilization"),
        ("actor_rollout_ref.actor.lr", "actor_rollout_ref.actor.optim.lr"),
        ("trainer.n_gpu_per_node", "trainer.n_gpus_per_node"),
        ("xyzzy", None),
    ],
)
def test_nearest(key: str, close: str | None) -> None:
    assert TARGET.nearest("dp", key) == close


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("actor_rollout_ref.actor.dtype", "actor_rollout_ref.actor.fsdp_config.dtype"),
        ("actor_rollout_ref.actor.lr", "actor_rollout_ref.actor.optim.lr"),
        ("actor_rollout_ref.rollouts.n", "actor_rollout_ref.rollout.n"),
        ("n_gpus_per_node", "trainer.n_gpus_per_node"),
        ("trainer.totle_epochs", "trainer.total_epochs"),
        ("reward_model.overlong_buffer.enable", None),
        ("nonsense.key", None),
    ],
)
def test_the_nearest_key_is_what_a_person_meant(written: str, meant: str | None) -> None:
    assert load_target().nearest("dp", written) == meant
