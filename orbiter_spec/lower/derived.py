"""Lowerings that one row cannot say: a field that sets several keys, or a key that several fields decide.

Each function looks at the plan and yields `Emit`s: key, value and the spec route that is answerable for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orbiter_spec.lower.setting import ACTOR, CRITIC, MODEL, REFERENCE, ROLLOUT
from orbiter_spec.plan.model import Plan

ENGINE_GROUPS = {
    "fsdp": "dp",
    "fsdp2": "dp",
    "megatron": "megatron",
    "veomni": "veomni",
    "torchtitan": "torchtitan",
}
ROLLOUT_NAMES = {"transformers": "hf"}
ENGINE_HOMES = {"dp": "fsdp_config", "megatron": "megatron", "veomni": "veomni", "torchtitan": "torchtitan"}
CRITIC_HOMES = {**ENGINE_HOMES, "dp": "fsdp"}
RAY_INIT = "ray_kwargs.ray_init"
FULL_PRECISION = {"param_dtype": "fp32", "reduce_dtype": "fp32", "buffer_dtype": "fp32"}


@dataclass(frozen=True, slots=True)
class Emit:
    """One verl key with its value, and the spec route it comes from."""

    key: str
    value: Any
    route: str


def engine_group(plan: Plan) -> str:
    """verl's `model_engine` group for the training engine."""
    return ENGINE_GROUPS[str(plan.get("hardware.train.engine"))]


def lower_engine(plan: Plan) -> Iterator[Emit]:
    """The training engine's strategy, its precision and its own further keys, for each role that is on."""
    group = engine_group(plan)
    route = "hardware.train.engine"
    if plan.get(route) == "fsdp2":
        yield Emit(f"{ACTOR}.strategy", "fsdp2", route)
        if plan.needs_critic:
            yield Emit(f"{CRITIC}.strategy", "fsdp2", route)
    roles = [("train", f"{ACTOR}.{ENGINE_HOMES[group]}")]
    if plan.needs_reference:
        roles.append(("reference", f"{REFERENCE}.{ENGINE_HOMES[group]}"))
    if plan.needs_critic:
        roles.append(("critic", f"{CRITIC}.{CRITIC_HOMES[group]}"))
    for role, home in roles:
        yield from _precision(plan, f"hardware.{role}.dtype", home, group)
        yield from _further(plan, f"hardware.{role}.{'fsdp' if group == 'dp' else group}", home)


def _precision(plan: Plan, route: str, home: str, group: str) -> Iterator[Emit]:
    dtype = plan.get(route)
    if dtype is None:
        return
    if group != "veomni":
        yield Emit(f"{home}.dtype", dtype, route)
    if group == "dp" and dtype == "float32":
        for name, value in FULL_PRECISION.items():
            yield Emit(f"{home}.mixed_precision.{name}", value, route)


def _further(plan: Plan, route: str, prefix: str) -> Iterator[Emit]:
    """A mapping of the user's that goes below one key as it is."""
    given = plan.get(route)
    for name, value in _leaves(given) if isinstance(given, Mapping) else ():
        yield Emit(f"{prefix}.{name}", value, route)


def _leaves(mapping: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in mapping.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def lower_models(plan: Plan) -> Iterator[Emit]:
    """Paths of the policy and the critic, and entries of config.json."""
    yield Emit(f"{MODEL}.path", plan.path("agent.model.path"), "agent.model.path")
    yield from _further(plan, "agent.model.config_overrides", f"{MODEL}.override_config")
    yield from _further(plan, "agent.chat_template_args", "data.apply_chat_template_kwargs")
    if plan.get("agent.model.mtp") is not None:
        yield Emit(f"{MODEL}.mtp.enable", True, "agent.model.mtp")
    if not plan.needs_critic:
        return
    own = plan.get("algorithm.critic.model.path") is not None
    route = "algorithm.critic.model.path" if own else "agent.model.path"
    yield Emit(f"{CRITIC}.model.path", plan.path(route), route)
    for name, key in (
        ("trust_remote_code", "trust_remote_code"),
        ("attention", "override_config.attn_implementation"),
        ("external_lib", "external_lib"),
        ("tokenizer", "tokenizer_path"),
    ):
        source = f"algorithm.critic.model.{name}" if own and plan.get(f"algorithm.critic.model.{name}") else None
        source = source or f"agent.model.{name}"
        if plan.get(source) is not None:
            yield Emit(f"{CRITIC}.model.{key}", plan.path(source), source)
    for name, key in (("remove_padding", "use_remove_padding"), ("gradient_checkpointing", "enable_gradient_checkpointing")):
        if plan.get(f"hardware.train.{name}") is not None:
            yield Emit(f"{CRITIC}.model.{key}", plan.get(f"hardware.train.{name}"), f"hardware.train.{name}")


def lower_rollout(plan: Plan) -> Iterator[Emit]:
    """Engine name, its own arguments, and the trainer mode that placement and asynchrony make."""
    engine = str(plan.get("hardware.rollout.engine"))
    yield Emit(f"{ROLLOUT}.name", ROLLOUT_NAMES.get(engine, engine), "hardware.rollout.engine")
    yield from _further(plan, "hardware.rollout.engine_args", f"{ROLLOUT}.engine_kwargs.{engine}")
    if plan.get("hardware.rollout.placement") == "separate":
        yield Emit("trainer.v1.trainer_mode", "separate_async", "hardware.rollout.placement")
        yield Emit(f"{ROLLOUT}.checkpoint_engine.backend", "nccl", "hardware.rollout.placement")
    elif plan.get("hardware.rollout.asynchronous"):
        yield Emit("trainer.v1.trainer_mode", "colocate_async", "hardware.rollout.asynchronous")


def lower_algorithm(plan: Plan) -> Iterator[Emit]:
    """Clipping, KL and the switches that a section's presence turns on."""
    for side in ("low", "high"):
        if plan.get(f"algorithm.clip.{side}") is not None:
            yield Emit(f"{ACTOR}.clip_ratio_{side}", plan.get(f"algorithm.clip.{side}"), f"algorithm.clip.{side}")
    yield from _kl(plan)
    if any(route.startswith("algorithm.filter_groups") for route in (*plan.given, *plan.decided)):
        yield Emit("algorithm.filter_groups.enable", True, "algorithm.filter_groups")
    if plan.get("algorithm.preference_feedback") is not None:
        yield Emit("algorithm.use_pf_ppo", True, "algorithm.preference_feedback")
    if plan.get("algorithm.overlong") is not None:
        yield Emit("reward.reward_kwargs.overlong_buffer_cfg.enable", True, "algorithm.overlong")
        limit = "algorithm.overlong.max_tokens"
        if plan.get(limit) is None:
            response = "agent.limits.response_tokens"
            yield Emit("reward.reward_kwargs.max_resp_len", plan.get(response), response)
    yield from _further(plan, "algorithm.optimizer.options", f"{ACTOR}.optim.override_optimizer_config")
    if plan.needs_critic:
        yield from _further(plan, "algorithm.critic.optimizer.options", f"{CRITIC}.optim.override_optimizer_config")


def _kl(plan: Plan) -> Iterator[Emit]:
    apply = plan.get("algorithm.kl.apply")
    if apply in ("loss", "both"):
        yield Emit(f"{ACTOR}.use_kl_loss", True, "algorithm.kl.apply")
        yield Emit(f"{ACTOR}.kl_loss_coef", plan.get("algorithm.kl.coefficient"), "algorithm.kl.coefficient")
    if apply in ("reward", "both"):
        own = "algorithm.kl.reward_coefficient"
        route = own if plan.get(own) is not None else "algorithm.kl.coefficient"
        yield Emit("algorithm.use_kl_in_reward", True, "algorithm.kl.apply")
        yield Emit("algorithm.kl_ctrl.kl_coef", plan.get(route), route)


def lower_data(plan: Plan) -> Iterator[Emit]:
    """Files of rows and the prepared reward function beside them."""
    yield Emit("data.train_files", plan.path("dataset.train"), "dataset.train")
    validation = "dataset.validation" if "dataset.validation" in plan.paths else "dataset.train"
    yield Emit("data.val_files", plan.path(validation), validation)
    custom = plan.path("dataset.custom_class")
    if custom is not None:
        path, _, name = str(custom).rpartition(":")
        yield Emit("data.custom_cls.path", path, "dataset.custom_class")
        yield Emit("data.custom_cls.name", name, "dataset.custom_class")
    images = plan.get("dataset.columns.images")
    if images is not None:
        yield Emit("data.image_key", "images", "dataset.columns.images")


def lower_rewards(plan: Plan) -> Iterator[Emit]:
    """The one reward function that verl calls, which reads rewards.json beside itself, and the log of its parts."""
    yield Emit("reward.custom_reward_function.path", "reward.py", "rewards")
    yield Emit("reward.custom_reward_function.name", "compute_score", "rewards")
    manager = plan.get("rewards.manager")
    if manager is None and plan.get("algorithm.overlong") is not None:
        yield Emit("reward.reward_manager.name", "dapo", "algorithm.overlong")
    elif manager is not None:
        yield Emit("reward.reward_manager.name", manager, "rewards.manager")
    if not plan.on_cpu:
        buffer = "RewardReplayBufferAsync" if plan.get("hardware.rollout.asynchronous") else "RewardReplayBuffer"
        yield Emit("trainer.v1.sampler.custom_sampler.path", "reward_metrics.py", "rewards")
        yield Emit("trainer.v1.sampler.custom_sampler.name", buffer, "rewards")
    if plan.get("rewards.workers") is not None:
        yield Emit("reward.num_workers", plan.get("rewards.workers"), "rewards.workers")


def lower_tools(plan: Plan) -> Iterator[Emit]:
    """Tools and loops by their files; naming a tool turns several turns on."""
    files = (
        ("agent.tool_config", f"{ROLLOUT}.multi_turn.tool_config_path"),
        ("agent.function_tools", f"{ROLLOUT}.multi_turn.function_tool_path"),
        ("agent.loop_config", f"{ROLLOUT}.agent.agent_loop_config_path"),
    )
    for route, key in files:
        if plan.get(route) is not None:
            yield Emit(key, plan.path(route), route)
    tools = next((route for route in ("agent.tool_config", "agent.function_tools") if plan.get(route)), None)
    if tools or plan.get("agent.turns") is not None:
        yield Emit(f"{ROLLOUT}.multi_turn.enable", True, tools or "agent.turns")
    if tools and plan.get("agent.loop") is None:
        yield Emit(f"{ROLLOUT}.agent.default_agent_loop", "tool_agent", tools)


def lower_run(plan: Plan) -> Iterator[Emit]:
    """Folders of results, resumption, profiling of roles, and Ray on this machine."""
    if plan.get("run.checkpoint.folder") is None:
        yield Emit("trainer.default_local_dir", "checkpoints", "run.output")
    else:
        yield Emit("trainer.default_local_dir", plan.path("run.checkpoint.folder"), "run.checkpoint.folder")
    if plan.get("run.save_rollouts"):
        yield Emit("trainer.rollout_data_dir", "rollouts", "run.save_rollouts")
    yield Emit("trainer.validation_data_dir", "validation", "run.output")
    yield from _resume(plan)
    yield from _profile(plan)
    if plan.get("run.evaluate.sample") is None and float(plan.get("run.evaluate.temperature", 0)) > 0:
        yield Emit(f"{ROLLOUT}.val_kwargs.do_sample", True, "run.evaluate.temperature")


def _resume(plan: Plan) -> Iterator[Emit]:
    route = "run.checkpoint.resume"
    wish = plan.get(route)
    modes = {"auto": "auto", "never": "disable"}
    yield Emit("trainer.resume_mode", modes.get(str(wish), "resume_path"), route)
    if wish not in modes:
        yield Emit("trainer.resume_from_path", plan.path(route), route)


def _profile(plan: Plan) -> Iterator[Emit]:
    homes = {"actor": ACTOR, "reference": REFERENCE, "rollout": ROLLOUT, "critic": CRITIC}
    roles = plan.get("run.profile.roles") or {}
    for role, settings in roles.items():
        for name, value in _leaves(settings):
            yield Emit(f"{homes[role]}.profiler.{name}", value, "run.profile.roles")
    tool = plan.get("run.profile.tool")
    yield from _further(plan, "run.profile.options", f"global_profiler.global_tool_config.{tool}")


def lower_local_ray(plan: Plan) -> Iterator[Emit]:
    """A CPU run brings its own Ray, with as many logical CPUs and GPUs as the plan asks for.

    The sampler polls often enough for steps of a second. verl waits for ever when a pool does not fit, and joins whatever cluster it finds when no address is given.
    """
    if not plan.on_cpu or plan.demand is None:
        return
    route = "hardware.accelerator"
    yield Emit("trainer.device", "cpu", route)
    buffer = "FastReplayBufferAsync" if plan.get("hardware.rollout.asynchronous") else "FastReplayBuffer"
    yield Emit("trainer.v1.sampler.custom_sampler.path", "pkg://orbiter_spec.runtime.sampler", route)
    yield Emit("trainer.v1.sampler.custom_sampler.name", buffer, route)
    if plan.get("hardware.cluster.kind", "local") != "local":
        return
    cpus = plan.get("hardware.cluster.cpus")
    yield Emit(f"{RAY_INIT}.address", "local", route)
    yield Emit(f"{RAY_INIT}.num_cpus", cpus or plan.demand.cpus, "hardware.cluster.cpus" if cpus else route)
    yield Emit(f"{RAY_INIT}.num_gpus", plan.demand.gpus, route)
    yield Emit(f"{RAY_INIT}.include_dashboard", False, route)


def lower_hatch(plan: Plan) -> Iterator[Emit]:
    """The user's own verl keys; they come last and win."""
    for key, value in (plan.get("verl.overrides") or {}).items():
        if isinstance(value, Mapping) and value:
            for name, leaf in _leaves(value):
                yield Emit(f"{key}.{name}", leaf, "verl.overrides")
        else:
            yield Emit(key, value, "verl.overrides")


DERIVED: tuple[Callable[[Plan], Iterator[Emit]], ...] = (
    lower_engine,
    lower_models,
    lower_rollout,
    lower_algorithm,
    lower_data,
    lower_rewards,
    lower_tools,
    lower_run,
    lower_local_ray,
    lower_hatch,
)
