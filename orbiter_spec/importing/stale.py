"""Keys of older releases: what became of each, and how to keep the meaning.

A rule names a key (or everything below it, with `.*`), the release that changed it, and where it went. A key
without a rule that a shipped catalogue of an older release still knows is at least told when it left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.target import TARGET_VERSIONS, Target, load_target

ENGINES = ("dp", "megatron", "veomni", "torchtitan")


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one key: `to` is None where nothing takes its place, `value` puts an old value in new words.

    `also` holds what the new key needs beside it, for as long as the run does not say otherwise.
    """

    key: str
    why: str
    to: str | None = None
    value: Callable[[Any], Any] = lambda value: value
    also: tuple[tuple[str, Any], ...] = ()


def _first_steps(count: Any) -> Any:
    """`max_dump_step: 3` is `steps: [1, 2, 3]`."""
    return list(range(1, count + 1)) if isinstance(count, int) and count < FIRST_STEPS else count


def _level(value: Any) -> Any:
    """`rollout_is: True` said that ratios count, and counted them by token."""
    return {True: "token", False: None}.get(value, value) if isinstance(value, bool) else value


FIRST_STEPS = 10_000
CORRECTION = "algorithm.rollout_correction"
ROLES = ("actor_rollout_ref.actor", "actor_rollout_ref.ref", "critic")
SKIP = "actor_rollout_ref.rollout.skip"
MOVED_SKIP = "answers are reused by a skip manager, a section at the root"


CHANGES: tuple[Change, ...] = (
    *(
        Change(f"{home}.grad_offload", "param_offload moves gradients too")
        for home in (
            "actor_rollout_ref.actor.fsdp_config",
            "actor_rollout_ref.ref.fsdp_config",
            "critic.model.fsdp_config",
            "critic.fsdp",
        )
    ),
    *(
        Change(
            f"{home}.checkpoint.contents",
            "what is saved and what is loaded are two lists",
            f"{home}.checkpoint.save_contents",
        )
        for home in ("actor_rollout_ref.actor", "critic")
    ),
    Change(
        "actor_rollout_ref.actor.use_token_level_loss",
        "how a loss is put together has a name",
        "actor_rollout_ref.actor.loss_agg_mode",
        lambda value: "token-mean" if value else "seq-mean-token-mean",
    ),
    Change(
        "trainer.remove_previous_ckpt_in_save",
        "checkpoints that are kept are counted, the critic's by trainer.max_critic_ckpt_to_keep",
        "trainer.max_actor_ckpt_to_keep",
        lambda value: 1 if value else None,
    ),
    Change("trainer.val_generations_to_log_to_wandb", "every logger shows them", "trainer.log_val_generations"),
    Change(
        "actor_rollout_ref.rollout.multi_turn.enable_tokenization_sanity_check",
        "the check has degrees",
        "actor_rollout_ref.rollout.multi_turn.tokenization_sanity_check_mode",
        lambda value: "strict" if value else "disable",
    ),
    Change("ray_init.num_cpus", "what Ray is started with has a section", "ray_kwargs.ray_init.num_cpus"),
    Change("ray_init.timeline_json_file", "what Ray is started with has a section", "ray_kwargs.timeline_json_file"),
    Change(
        "actor_rollout_ref.actor.tis_imp_ratio_cap",
        "rollout correction has a section of its own; the ratio counts by token",
        f"{CORRECTION}.rollout_is_threshold",
        also=((f"{CORRECTION}.rollout_is", "token"),),
    ),
    Change(
        "reward_model.overlong_buffer.*",
        "the dapo manager takes it as an argument; algorithm.overlong says it",
        "reward.reward_kwargs.overlong_buffer_cfg.*",
    ),
    Change("reward_model.use_reward_loop", "rewards always go through the reward loop"),
    Change("actor_rollout_ref.rollout.micro_batch_size", "only the engine hf read it, which is gone"),
    *(Change(f"{home}.megatron.grad_offload", "param_offload moves gradients too") for home in ROLES),
    *(Change(f"{home}.load_weight", "no worker read it: weights are always loaded") for home in ROLES),
    *(Change(f"{home}.checkpoint.mbridge_config", "only Megatron's checkpoints have it") for home in ROLES),
    *(
        Change(
            f"{home}.router_replay.*",
            "the workers read the engine's own section, megatron.router_replay or veomni.router_replay",
        )
        for home in ROLES
    ),
    *(
        Change(
            f"{home}.veomni.activation_gpu_limit",
            "VeOmni's offload is asynchronous and bounded on the host: veomni.enable_async_activation_offload",
        )
        for home in ROLES
    ),
    *(
        Change(f"{home}.veomni.moe_load_balance_monitor_interval", "VeOmni's monitor of experts was taken out")
        for home in ROLES
    ),
    Change(f"{SKIP}._target_", MOVED_SKIP),
    Change(f"{SKIP}.max_dump_step", MOVED_SKIP, "skip.rollout_tq.steps", _first_steps),
    Change(
        f"{SKIP}.enable",
        f"{MOVED_SKIP}; it needs skip.rollout_tq.steps, of which the old max_dump_step counted the first",
        "skip.rollout_tq.enable",
    ),
    Change(f"{SKIP}.dump_dir", MOVED_SKIP, "skip.rollout_tq.dump_dir"),
    Change(
        f"{SKIP}.action",
        f"{MOVED_SKIP}; repeat reuses the last step now, as repeat_last did",
        "skip.rollout_tq.action",
        lambda value: "repeat" if value == "repeat_last" else value,
    ),
    Change("actor_rollout_ref.actor.model_engine", "the engine is chosen once, at the root", "model_engine"),
    Change("actor_rollout_ref.model_engine", "the engine is chosen once, at the root", "model_engine"),
    Change("data.continuous_token.*", "the token builder is always on"),
    Change(
        "actor_rollout_ref.actor.policy_loss.tau_pos", "verl reads it from the actor", "actor_rollout_ref.actor.tau_pos"
    ),
    Change(
        "actor_rollout_ref.actor.policy_loss.tau_neg", "verl reads it from the actor", "actor_rollout_ref.actor.tau_neg"
    ),
    Change("critic.model.fsdp_config.*", "the critic's engine moved beside its model", "critic.fsdp.*"),
    Change("critic.fsdp_config.*", "the critic's engine is called fsdp", "critic.fsdp.*"),
    Change("trainer.profile_steps", "profiling has a section of its own", "global_profiler.steps"),
    Change(
        "trainer.profile_continuous_steps",
        "profiling has a section of its own",
        "global_profiler.profile_continuous_steps",
    ),
    Change("algorithm.rollout_is", "rollout correction has a section of its own", f"{CORRECTION}.rollout_is", _level),
    *(
        Change(f"algorithm.{name}", "rollout correction has a section of its own", f"{CORRECTION}.{name}")
        for name in ("rollout_is_threshold", "rollout_rs", "rollout_rs_threshold")
    ),
    Change("algorithm.rollout_is_level", f"{CORRECTION}.rollout_is names the level: token or sequence"),
    Change("algorithm.rollout_is_mode", f"{CORRECTION} truncates with rollout_is and masks with rollout_rs"),
    Change(
        "actor_rollout_ref.actor.optim.warmup_style",
        "the schedule has one name",
        "actor_rollout_ref.actor.optim.lr_scheduler_type",
    ),
    Change("critic.optim.warmup_style", "the schedule has one name", "critic.optim.lr_scheduler_type"),
    Change("actor_rollout_ref.rollout.multi_turn.interaction_config_path", "interactions became agent loops"),
    Change("actor_rollout_ref.rollout.multi_turn.completion_callback", "chat schedulers became agent loops"),
    Change("actor_rollout_ref.rollout.chat_scheduler", "chat schedulers became agent loops"),
    Change("reward_model.launch_reward_fn_async", "rewards are always computed beside generation"),
    Change("reward_model.model.fsdp_config.*", "reward models are served by the inference engine"),
    Change("reward_model.strategy", "reward models are served by the inference engine"),
    Change("reward_model.micro_batch_size_per_gpu", "reward models are served by the inference engine"),
    Change("reward_model.use_dynamic_bsz", "reward models are served by the inference engine"),
    Change("trainer.use_legacy_worker_impl", "there is one worker implementation"),
    Change("actor_rollout_ref.rollout.use_fire_sampling", "the option was taken out"),
    Change("actor_rollout_ref.model.enable_liger", "renamed", "actor_rollout_ref.model.use_liger"),
)


FORMATS = "actor_rollout_ref.rollout.load_format"
VALUES: Mapping[str, Mapping[Any, Any]] = {
    FORMATS: {
        **dict.fromkeys(("dummy_dtensor", "dummy_hf", "dummy_megatron"), "dummy"),
        **dict.fromkeys(("dtensor", "hf", "megatron"), "auto"),
    },
    "actor_rollout_ref.rollout.mode": {"sync": "async"},
}
"""Values of older releases that verl or its engine refuses today, each with the one that took its place."""

NEEDED: Mapping[str, Any] = {"actor_rollout_ref.rollout.name": "vllm"}
"""Keys that had a default once and have none today, with that default."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A key that composes and does not do what it says; `holds` asks the composed configuration."""

    key: str
    message: str
    help: str
    holds: Callable[[Mapping[str, Any], Any], bool]
    severity: Severity = Severity.WARNING


def _set(config: Mapping[str, Any], value: Any) -> bool:
    return value is not None


def _experts(config: Mapping[str, Any], value: Any) -> bool:
    rollout = "actor_rollout_ref.rollout"
    product = int(config.get(f"{rollout}.tensor_model_parallel_size") or 1)
    product *= int(config.get(f"{rollout}.data_parallel_size") or 1)
    return isinstance(value, int) and value not in (1, product)


def _differs(other: str, config: Mapping[str, Any], value: Any) -> bool:
    return bool(value != config.get(other))


DO_SAMPLE = "actor_rollout_ref.rollout.val_kwargs.do_sample"
VALIDATION_TEMPERATURE = "actor_rollout_ref.rollout.val_kwargs.temperature"

DOUBTS: tuple[Doubt, ...] = (
    Doubt(
        "reward_model.*",
        "main_ppo does not read the legacy section reward_model",
        "say it in rewards: manager, model, or algorithm.overlong",
        _set,
    ),
    Doubt(
        "custom_reward_function.*",
        "main_ppo does not read custom_reward_function at the root",
        "write rewards.scorer",
        _set,
    ),
    Doubt("sandbox_fusion.*", "main_ppo does not read sandbox_fusion at the root", "write rewards.sandbox", _set),
    Doubt(
        "actor_rollout_ref.rollout.expert_parallel_size",
        "the rollout's expert_parallel_size is neither 1 nor tensor x data parallel",
        "use one of the two in hardware.rollout.expert_parallel",
        _experts,
    ),
    Doubt(
        DO_SAMPLE,
        "val_kwargs.do_sample is read by nothing: the temperature alone decides, and it says otherwise",
        "set run.evaluate.temperature",
        lambda config, value: bool(value) != bool(config.get(VALIDATION_TEMPERATURE)),
    ),
    Doubt(
        DO_SAMPLE,
        "val_kwargs.do_sample is read by nothing: the temperature alone decides",
        "set run.evaluate.temperature",
        lambda config, value: bool(value) == bool(config.get(VALIDATION_TEMPERATURE)),
        Severity.NOTE,
    ),
    *(
        Doubt(
            f"{home}.grad_clip",
            f"{home}.grad_clip is read by nothing: {home}.optim.clip_grad is, and it says otherwise",
            f"set {field}.optimizer.clip_gradient",
            partial(_differs, f"{home}.optim.clip_grad"),
        )
        for home, field in (("actor_rollout_ref.actor", "algorithm"), ("critic", "algorithm.critic"))
    ),
    Doubt(
        "actor_rollout_ref.actor.ppo_micro_batch_size",
        "a micro-batch over all GPUs is deprecated",
        "write hardware.train.micro_batch.sequences, counted per GPU",
        _set,
    ),
)


def matching(pattern: str, key: str) -> bool:
    """True when `pattern` names `key` or, ending in `.*`, a section above it."""
    return key.startswith(pattern[:-1]) if pattern.endswith(".*") else key == pattern


def change_of(key: str) -> Change | None:
    """The rule for `key`, if there is one."""
    return next((change for change in CHANGES if matching(change.key, key)), None)


def moved(change: Change, key: str) -> str | None:
    """Where `change` puts `key`."""
    if change.to is None or not change.to.endswith(".*"):
        return change.to
    return change.to[:-1] + key[len(change.key) - 1 :]


def known_until(key: str, target: Target) -> str | None:
    """The last older release that had `key`, by the shipped catalogues."""
    older = TARGET_VERSIONS[: TARGET_VERSIONS.index(target.version)]
    for version in reversed(older):
        catalogue = load_target(version)
        if any(catalogue.has(engine, key) for engine in _engines(catalogue)):
            return version
    return None


def _engines(target: Target) -> list[str]:
    found = []
    for engine in ENGINES:
        try:
            target.shared_tree(engine)
        except (KeyError, OSError):
            continue
        found.append(engine)
    return found
