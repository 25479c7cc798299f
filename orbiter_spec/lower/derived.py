"""Lowerings that one row cannot say: a field that sets several keys, or a key that several fields decide.

Each function looks at the plan and yields `Emit`s: key, value and the spec route that is answerable for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from orbiter_spec.lower.distillation import lower_distillation
from orbiter_spec.lower.emit import Emit, leaves
from orbiter_spec.lower.engine import CRITIC_HOMES, HOMES
from orbiter_spec.lower.rewards import FUNCTION, MANAGER, REWARD_MODEL
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
FOLLOWED_MODEL_WORDS = (
    ("trust_remote_code", "trust_remote_code"),
    ("attention", "override_config.attn_implementation"),
    ("external_lib", "external_lib"),
    ("tokenizer", "tokenizer_path"),
)
LOOP = "orbiter_agent"
SAMPLER = "trainer.v1.sampler.custom_sampler"
RAY_INIT = "ray_kwargs.ray_init"
FULL_PRECISION = {"param_dtype": "fp32", "reduce_dtype": "fp32", "buffer_dtype": "fp32"}


def engine_group(plan: Plan) -> str:
    """verl's `model_engine` group for the training engine."""
    return ENGINE_GROUPS[str(plan.get("hardware.train.engine"))]


def keeps_defaults(plan: Plan) -> bool:
    """True when what is left out keeps verl's own default."""
    return bool(plan.get("verl.defaults"))


def has_reward_model(plan: Plan) -> bool:
    """True when a model scores answers."""
    return plan.get("rewards.model") is not None


def lower_engine(plan: Plan) -> Iterator[Emit]:
    """The training engine's strategy, its precision and its own further keys, for each role that is on."""
    group = engine_group(plan)
    route = "hardware.train.engine"
    if plan.get(route) == "fsdp2":
        yield Emit(f"{ACTOR}.strategy", "fsdp2", route)
        if plan.needs_critic:
            yield Emit(f"{CRITIC}.strategy", "fsdp2", route)
    roles = [("train", f"{ACTOR}.{HOMES[group]}")]
    if plan.needs_reference:
        roles.append(("reference", f"{REFERENCE}.{HOMES[group]}"))
    if plan.needs_critic:
        roles.append(("critic", f"{CRITIC}.{CRITIC_HOMES[group]}"))
    for role, home in roles:
        yield from _precision(plan, f"hardware.{role}.dtype", home, group)


def _precision(plan: Plan, route: str, home: str, group: str) -> Iterator[Emit]:
    dtype = plan.get(route)
    if dtype is None:
        return
    if group != "veomni":
        yield Emit(f"{home}.dtype", dtype, route)
    if group == "dp" and dtype == "float32":
        for name, value in FULL_PRECISION.items():
            yield Emit(f"{home}.mixed_precision.{name}", value, route)


def lower_models(plan: Plan) -> Iterator[Emit]:
    """Paths of the policy and the critic; a critic follows the policy where it says nothing."""
    yield Emit(f"{MODEL}.path", plan.path("agent.model.path"), "agent.model.path")
    if plan.get("agent.model.mlp_shards") is not None:
        yield Emit(f"{MODEL}.tiled_mlp.enabled", True, "agent.model.mlp_shards")
    if not plan.needs_critic:
        return
    own = plan.get("algorithm.critic.model.path") is not None
    route = "algorithm.critic.model.path" if own else "agent.model.path"
    yield Emit(f"{CRITIC}.model.path", plan.path(route), route)
    for name, key in FOLLOWED_MODEL_WORDS:
        source = f"agent.model.{name}"
        follows = plan.get(f"algorithm.critic.model.{name}") is None and not keeps_defaults(plan)
        if follows and plan.get(source) is not None:
            yield Emit(f"{CRITIC}.model.{key}", plan.path(source), source)


def lower_rollout(plan: Plan) -> Iterator[Emit]:
    """Engine name, and the trainer mode that placement and asynchrony make."""
    engine = str(plan.get("hardware.rollout.engine"))
    yield Emit(f"{ROLLOUT}.name", ROLLOUT_NAMES.get(engine, engine), "hardware.rollout.engine")
    yield from _class(plan, "hardware.rollout.server", f"{ROLLOUT}.agent.custom_async_server")
    if plan.on_cpu and engine == "vllm":
        yield Emit(f"{ROLLOUT}.enable_sleep_mode", False, "hardware.accelerator")
    mode = "sync"
    if plan.get("hardware.rollout.placement") == "separate":
        mode = "separate_async"
        yield Emit("trainer.v1.trainer_mode", mode, "hardware.rollout.placement")
        if plan.get("hardware.rollout.sync_backend") is None:
            yield Emit(f"{ROLLOUT}.checkpoint_engine.backend", "nccl", "hardware.rollout.placement")
    elif plan.get("hardware.rollout.asynchronous"):
        mode = "colocate_async"
        yield Emit("trainer.v1.trainer_mode", mode, "hardware.rollout.asynchronous")
    yield from _class(plan, "algorithm.staleness.sampler", SAMPLER)
    warmup = "algorithm.staleness.warmup_batches"
    if mode != "sync" and plan.get(warmup) is not None:
        yield Emit(f"trainer.v1.{mode}.num_warmup_batches", plan.get(warmup), warmup)


def _class(plan: Plan, route: str, home: str) -> Iterator[Emit]:
    """A class of the user's, `file.py:Name`, as verl's pair of path and name."""
    value = plan.path(route)
    if value is not None:
        path, _, name = str(value).rpartition(":")
        yield Emit(f"{home}.path", path, route)
        yield Emit(f"{home}.name", name, route)


def lower_algorithm(plan: Plan) -> Iterator[Emit]:
    """The trainer, KL, GDPO's weights, and the limit of the overlong penalty."""
    trainer = "algorithm.trainer"
    if plan.get(trainer) is not None:
        yield Emit("trainer.use_v1", not plan.is_legacy, trainer, optional=plan.is_legacy)
    yield from _kl(plan)
    yield from _part_weights(plan)
    limit = "algorithm.overlong.max_tokens"
    if plan.get("algorithm.overlong") is not None and plan.get(limit) is None:
        response = "agent.limits.response_tokens"
        yield Emit("reward.reward_kwargs.max_resp_len", plan.get(response), response)


def _kl(plan: Plan) -> Iterator[Emit]:
    apply = plan.get("algorithm.kl.apply")
    shared, own = "algorithm.kl.coefficient", "algorithm.kl.reward_coefficient"
    if apply in ("loss", "both"):
        yield Emit(f"{ACTOR}.use_kl_loss", True, "algorithm.kl.apply")
    if apply in ("reward", "both"):
        yield Emit("algorithm.use_kl_in_reward", True, "algorithm.kl.apply")
    if plan.get(shared) is not None and (apply in ("loss", "both") or (apply == "none" and shared in plan.given)):
        yield Emit(f"{ACTOR}.kl_loss_coef", plan.get(shared), shared)
    if plan.get(own) is not None:
        yield Emit("algorithm.kl_ctrl.kl_coef", plan.get(own), own)
    elif apply in ("reward", "both"):
        yield Emit("algorithm.kl_ctrl.kl_coef", plan.get(shared), shared)


def _part_weights(plan: Plan) -> Iterator[Emit]:
    """GDPO adds up parts that it has normalised apart, so it has to know their weights."""
    weights = {part.label: part.weight for part in plan.experiment.rewards.parts}
    names = plan.get("algorithm.reward_parts") or []
    if plan.get("algorithm.estimator") == "gdpo" and names and all(name in weights for name in names):
        yield Emit("algorithm.gdpo_reward_weights", [weights[name] for name in names], "rewards")


def lower_data(plan: Plan) -> Iterator[Emit]:
    """Files of rows and the prepared reward function beside them."""
    yield Emit("data.train_files", _files(plan, "dataset.train"), "dataset.train")
    validation = "dataset.validation" if "dataset.validation" in plan.paths else "dataset.train"
    yield Emit("data.val_files", _files(plan, validation), validation)
    yield from _class(plan, "dataset.custom_class", "data.custom_cls")
    if plan.get("dataset.seed") is None:
        yield Emit("data.seed", plan.get("seed"), "seed")
    images = plan.get("dataset.columns.images")
    if images is not None:
        prepared = bool(plan.get("dataset.prepared"))
        yield Emit("data.image_key", images if prepared else "images", "dataset.columns.images")


def _files(plan: Plan, route: str) -> Any:
    """The files at `route`; one that was not written as a list is not one for verl either."""
    files, written = plan.path(route), plan.get(route)
    written = getattr(written, "path", written) if route == "dataset.validation" else written
    alone = isinstance(files, (list, tuple)) and len(files) == 1 and not isinstance(written, list)
    return files[0] if alone else files


NEEDS_PLAIN_FUNCTION = ("remote",)
"""Reward managers that refuse a coroutine function."""


def lower_rewards(plan: Plan) -> Iterator[Emit]:
    """The one reward function that verl calls: ours, which reads rewards.json beside itself, or the user's scorer.

    Our parts are logged one by one by a replay buffer of ours, unless the user brings a sampler.
    """
    scorer = plan.path("rewards.scorer")
    if scorer is None and plan.experiment.rewards.parts:
        yield Emit(f"{FUNCTION}.path", "reward.py", "rewards")
        plain = plan.get("rewards.manager") in NEEDS_PLAIN_FUNCTION
        yield Emit(f"{FUNCTION}.name", "compute_score" if plain else "compute_score_async", "rewards")
        if not plan.on_cpu and not plan.is_legacy and plan.get("algorithm.staleness.sampler") is None:
            buffer = "RewardReplayBufferAsync" if plan.get("hardware.rollout.asynchronous") else "RewardReplayBuffer"
            yield Emit(f"{SAMPLER}.path", "reward_metrics.py", "rewards", optional=True)
            yield Emit(f"{SAMPLER}.name", buffer, "rewards", optional=True)
    elif scorer not in (None, "verl"):
        yield from _class(plan, "rewards.scorer", FUNCTION)
    yield from _reward_manager(plan)
    yield from _reward_model(plan)


def _reward_manager(plan: Plan) -> Iterator[Emit]:
    manager, route = plan.path("rewards.manager"), "rewards.manager"
    if manager is None and plan.get("algorithm.overlong") is not None:
        manager, route = "dapo", "algorithm.overlong"
    if manager is None:
        return
    path, separator, name = str(manager).rpartition(":")
    if not separator:
        yield Emit(f"{MANAGER}.name", manager, route)
        return
    yield Emit(f"{MANAGER}.source", "importlib", route)
    yield Emit(f"{MANAGER}.name", name, route)
    yield Emit(f"{MANAGER}.module.path", path, route)
    yield Emit(f"{MANAGER}.module.name", name, route)


def _reward_model(plan: Plan) -> Iterator[Emit]:
    if not has_reward_model(plan):
        return
    engine = "rewards.model.engine"
    route = engine if plan.get(engine) is not None else "hardware.rollout.engine"
    yield Emit(f"{REWARD_MODEL}.rollout.name", plan.get(route), route)
    if plan.get("rewards.model.nodes") is not None:
        yield Emit(f"{REWARD_MODEL}.enable_resource_pool", True, "rewards.model.nodes")


def lower_tools(plan: Plan) -> Iterator[Emit]:
    """Tools and loops by their files; naming a tool or an environment turns several turns on.

    An environment, and tools that are functions, run in the loop that comes along in the compiled folder.
    """
    own = next((route for route in ("agent.environment", "agent.tools") if plan.get(route)), None)
    if own is not None:
        yield Emit(f"{ROLLOUT}.agent.agent_loop_config_path", "agent_loops.yaml", own)
        yield Emit(f"{ROLLOUT}.agent.default_agent_loop", LOOP, own)
        if plan.get("agent.turns.enabled") is None:
            yield Emit(f"{ROLLOUT}.multi_turn.enable", True, own)
    if plan.get("agent.tools"):
        yield Emit(f"{ROLLOUT}.multi_turn.tool_config_path", "tools.yaml", "agent.tools")
    files = (
        ("agent.tool_config", f"{ROLLOUT}.multi_turn.tool_config_path"),
        ("agent.function_tools", f"{ROLLOUT}.multi_turn.function_tool_path"),
        ("agent.loop_config", f"{ROLLOUT}.agent.agent_loop_config_path"),
    )
    for route, key in files:
        if plan.get(route) is not None:
            yield Emit(key, plan.path(route), route)
    tools = next((route for route in ("agent.tool_config", "agent.function_tools") if plan.get(route)), None)
    if tools and plan.get("agent.turns.enabled") is None:
        yield Emit(f"{ROLLOUT}.multi_turn.enable", True, tools)
    if tools and plan.get("agent.loop") is None and own is None:
        yield Emit(f"{ROLLOUT}.agent.default_agent_loop", "tool_agent", tools)


def lower_run(plan: Plan) -> Iterator[Emit]:
    """Folders of results, resumption, profiling of roles, and Ray on this machine."""
    folder = "run.checkpoint.folder"
    if plan.get(folder) is not None:
        yield Emit("trainer.default_local_dir", plan.path(folder), folder)
    elif plan.is_open(folder):
        yield Emit("trainer.default_local_dir", "checkpoints", "run.output")
    yield from _answers(plan, "run.save_rollouts", "trainer.rollout_data_dir", "rollouts")
    yield from _answers(plan, "run.save_validations", "trainer.validation_data_dir", "validation")
    yield from _resume(plan)
    drawn = plan.get("run.evaluate.sample") is None and float(plan.get("run.evaluate.temperature", 0)) > 0
    if drawn and not keeps_defaults(plan):
        yield Emit(f"{ROLLOUT}.val_kwargs.do_sample", True, "run.evaluate.temperature")


def _answers(plan: Plan, route: str, key: str, usual: str) -> Iterator[Emit]:
    """A folder of answers: the usual one, one by name, or none."""
    value = plan.get(route)
    if value:
        yield Emit(key, usual if value is True else plan.path(route), route)


def _resume(plan: Plan) -> Iterator[Emit]:
    """A folder to resume from, or a mode."""
    route = "run.checkpoint.resume"
    wish = plan.get(route)
    modes = {"auto": "auto", "never": "disable"}
    yield Emit("trainer.resume_mode", modes.get(str(wish), "resume_path"), route)
    if wish not in modes:
        yield Emit("trainer.resume_from_path", plan.path(route), route)


def lower_local_ray(plan: Plan) -> Iterator[Emit]:
    """A CPU run brings its own Ray, with as many logical CPUs and GPUs as the plan asks for.

    The sampler polls often enough for steps of a second. verl waits for ever when a pool does not fit, and joins
    whatever cluster it finds when no address is given.
    """
    if not plan.on_cpu or plan.demand is None:
        return
    route = "hardware.accelerator"
    yield Emit("trainer.device", "cpu", route)
    if not plan.is_legacy:
        buffer = "FastReplayBufferAsync" if plan.get("hardware.rollout.asynchronous") else "FastReplayBuffer"
        yield Emit(f"{SAMPLER}.path", "pkg://orbiter_spec.runtime.sampler", route)
        yield Emit(f"{SAMPLER}.name", buffer, route)
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
            for name, leaf in leaves(value):
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
    lower_distillation,
    lower_tools,
    lower_run,
    lower_local_ray,
    lower_hatch,
)
