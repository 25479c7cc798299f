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
    """What became of one key: `to` is None where nothing takes its place, `value` puts an old value in new words."""

    key: str
    why: str
    to: str | None = None
    value: Callable[[Any], Any] = lambda value: value


def _first_steps(count: Any) -> Any:
    """`max_dump_step: 3` is `steps: [1, 2, 3]`."""
    return list(range(1, count + 1)) if isinstance(count, int) and count < FIRST_STEPS else count


FIRST_STEPS = 10_000
ROLES = ("actor_rollout_ref.actor", "actor_rollout_ref.ref", "critic")
SKIP = "actor_rollout_ref.rollout.skip"
MOVED_SKIP = "answers are reused by a skip manager, a section at the root"


CHANGES: tuple[Change, ...] = (
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
    Change(
        "algorithm.rollout_is", "rollout correction has a section of its own", "algorithm.rollout_correction.rollout_is"
    ),
    Change(
        "algorithm.rollout_is_threshold",
        "rollout correction has a section of its own",
        "algorithm.rollout_correction.rollout_is_threshold",
    ),
    Change(
        "algorithm.rollout_rs", "rollout correction has a section of its own", "algorithm.rollout_correction.rollout_rs"
    ),
    Change(
        "algorithm.rollout_rs_threshold",
        "rollout correction has a section of its own",
        "algorithm.rollout_correction.rollout_rs_threshold",
    ),
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
