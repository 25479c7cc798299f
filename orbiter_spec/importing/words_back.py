"""The lowering tables read backwards: from a verl key and its value to a field of the language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from orbiter_spec.lower.distillation import DEFAULT_NAME, TEACHER_WORDS, TEACHERS
from orbiter_spec.lower.engine import CRITIC_HOMES, HOMES
from orbiter_spec.lower.lowering import MAPPED, TABLE
from orbiter_spec.lower.rewards import FUNCTION, MANAGER, REWARD_MODEL
from orbiter_spec.lower.setting import ACTOR, CRITIC, MODEL, REFERENCE, ROLLOUT, Mapped, Setting

Flat = Mapping[str, Any]
Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Unsaid:
    """Marks a value that no word says."""


UNSAID = Unsaid()


@cache
def rows_of(engine: str) -> dict[str, Setting]:
    """The row behind each key of `engine`; the first row that names a key owns it."""
    rows: dict[str, Setting] = {}
    for row in TABLE:
        for key in row.keys_for(engine):
            rows.setdefault(key, row)
    return rows


@cache
def _mapped(engine: str, rollout: str, profiler: str, judge: str) -> tuple[tuple[str, Mapped], ...]:
    names = {"rollout": rollout, "profiler": profiler, "judge": judge}
    found = [(prefix, row) for row in MAPPED if (prefix := row.prefix_for(engine, names)) is not None]
    return tuple(sorted(found, key=lambda item: -len(item[0])))


def field_of(key: str, flat: Flat, engine: str) -> Fields | Unsaid:
    """The fields that say `key` as it stands in the configuration `flat`, or UNSAID."""
    special = SPECIAL.get(key)
    if special is not None:
        return special(flat)
    for prefix, back in PREFIXES:
        if key.startswith(prefix):
            return back(key, flat)
    value = flat.get(key)
    row = rows_of(engine).get(key)
    if row is not None:
        decoded = row.decode(value)
        return UNSAID if decoded is None else {row.field: decoded}
    precision = _dtype(key, value, engine)
    if precision is not None:
        return precision
    return _below(key, value, flat, engine)


def _below(key: str, value: Any, flat: Flat, engine: str) -> Fields | Unsaid:
    judge = str(flat.get(f"{REWARD_MODEL}.rollout.name"))
    names = (str(flat.get(f"{ROLLOUT}.name")), str(flat.get("global_profiler.tool")), judge)
    for prefix, row in _mapped(engine, *names):
        if key.startswith(f"{prefix}.") and not key.endswith("._target_"):
            return {f"{row.field}|{key[len(prefix) + 1 :]}": value}
    return UNSAID


def _dtype(key: str, value: Any, engine: str) -> Fields | None:
    homes = {
        f"{ACTOR}.{HOMES[engine]}.dtype": "hardware.train.dtype",
        f"{REFERENCE}.{HOMES[engine]}.dtype": "hardware.reference.dtype",
        f"{CRITIC}.{CRITIC_HOMES[engine]}.dtype": "hardware.critic.dtype",
    }
    route = homes.get(key)
    return {route: value} if route and value in ("bfloat16", "float16", "float32") else None


def _kl(flat: Flat) -> Fields:
    in_loss, in_reward = bool(flat.get(f"{ACTOR}.use_kl_loss")), bool(flat.get("algorithm.use_kl_in_reward"))
    apply = {(True, True): "both", (True, False): "loss", (False, True): "reward"}.get((in_loss, in_reward), "none")
    fields: Fields = {"algorithm.kl.apply": apply}
    loss, reward = flat.get(f"{ACTOR}.kl_loss_coef"), flat.get("algorithm.kl_ctrl.kl_coef")
    if loss != 0.001 and (in_loss or not in_reward):
        fields["algorithm.kl.coefficient"] = loss
    shared = loss if in_loss or loss != 0.001 else 0.001
    if reward != (shared if in_reward else 0.001):
        fields["algorithm.kl.reward_coefficient"] = reward
    return fields


def _absolute(route: str, key: str) -> Callable[[Flat], Fields | Unsaid]:
    """A folder: a relative one would move to the spec's folder, so only absolute ones are said by a word."""

    def back(flat: Flat) -> Fields | Unsaid:
        value = flat.get(key)
        return {route: value} if isinstance(value, str) and value.startswith("/") else UNSAID

    return back


def _folder(route: str, key: str) -> Callable[[Flat], Fields]:
    return lambda flat: {route: flat.get(key) if flat.get(key) else False}


def _resume(flat: Flat) -> Fields | Unsaid:
    mode, folder = str(flat.get("trainer.resume_mode")), flat.get("trainer.resume_from_path")
    if mode == "resume_path" and isinstance(folder, str) and folder.startswith("/"):
        return {"run.checkpoint.resume": folder}
    word = {"auto": "auto", "disable": "never"}.get(mode)
    return {"run.checkpoint.resume": word} if word and folder is None else UNSAID


def _engine(flat: Flat) -> Fields | Unsaid:
    strategy = flat.get(f"{ACTOR}.strategy")
    words = ("fsdp", "fsdp2", "megatron", "veomni", "torchtitan")
    return {"hardware.train.engine": strategy} if strategy in words else UNSAID


def _rollout(flat: Flat) -> Fields | Unsaid:
    name = flat.get(f"{ROLLOUT}.name")
    return {"hardware.rollout.engine": name} if name in ("vllm", "sglang", "trtllm") else UNSAID


def _mode(flat: Flat) -> Fields | Unsaid:
    mode = flat.get("trainer.v1.trainer_mode")
    if mode == "separate_async":
        return {"hardware.rollout.placement": "separate"}
    return {"hardware.rollout.asynchronous": True} if mode == "colocate_async" else UNSAID


def _warmup(flat: Flat) -> Fields | Unsaid:
    mode = flat.get("trainer.v1.trainer_mode")
    value = flat.get(f"trainer.v1.{mode}.num_warmup_batches")
    return UNSAID if value is None else {"algorithm.staleness.warmup_batches": value}


def _class(route: str, home: str) -> Callable[[Flat], Fields | Unsaid]:
    def back(flat: Flat) -> Fields | Unsaid:
        path, name = flat.get(f"{home}.path"), flat.get(f"{home}.name")
        return {route: f"{path}:{name}"} if is_fixed(path) and name else UNSAID

    return back


def is_fixed(path: Any) -> bool:
    """True for a path that means the same from every folder; a relative one would move to the spec's folder."""
    return isinstance(path, str) and path.startswith(("/", "pkg://"))


def _scorer(flat: Flat) -> Fields | Unsaid:
    path, name = flat.get(f"{FUNCTION}.path"), flat.get(f"{FUNCTION}.name")
    return {"rewards.scorer": f"{path}:{name}"} if is_fixed(path) and name else UNSAID


def _manager(flat: Flat) -> Fields | Unsaid:
    if flat.get(f"{MANAGER}.source") == "register":
        return {"rewards.manager": flat.get(f"{MANAGER}.name")}
    path, name = flat.get(f"{MANAGER}.module.path"), flat.get(f"{MANAGER}.module.name")
    same_name = flat.get(f"{MANAGER}.name") == name
    return {"rewards.manager": f"{path}:{name}"} if is_fixed(path) and name and same_name else UNSAID


def _reward_pool(flat: Flat) -> Fields | Unsaid:
    nodes = flat.get(f"{REWARD_MODEL}.nnodes")
    return {"rewards.model.nodes": nodes} if flat.get(f"{REWARD_MODEL}.enable_resource_pool") and nodes else UNSAID


def _reward_path(flat: Flat) -> Fields | Unsaid:
    path = flat.get(f"{REWARD_MODEL}.model_path")
    return {"rewards.model.path": path} if flat.get(f"{REWARD_MODEL}.enable") and path else UNSAID


def _shards(flat: Flat) -> Fields | Unsaid:
    on = flat.get(f"{MODEL}.tiled_mlp.enabled")
    return {"agent.model.mlp_shards": flat.get(f"{MODEL}.tiled_mlp.num_shards")} if on else UNSAID


def _teachers(key: str, flat: Flat) -> Fields | Unsaid:
    """All teachers at once: verl's own entry when it stands alone, else those beside it."""
    names = list(dict.fromkeys(found.split(".")[2] for found in flat if found.startswith(f"{TEACHERS}.")))
    others = [name for name in names if name != DEFAULT_NAME]
    teachers = [_teacher(name, flat) for name in others or names]
    if not flat.get("distillation.enabled") or any("model" not in teacher for teacher in teachers):
        return UNSAID
    return {"algorithm.distillation.teachers": teachers}


def _teacher(name: str, flat: Flat) -> Fields:
    home = f"{TEACHERS}.{name}"
    own = name == DEFAULT_NAME
    teacher: Fields = {} if own else {"name": name}
    for word, key in TEACHER_WORDS.items():
        value = flat.get(f"{home}.{key}")
        if value is None or (own and value == TEACHER_DEFAULTS.get(word, flat.get(_FOLLOWED.get(word, "")))):
            continue
        if word == "replicas" and value == (0 if own else 1):
            continue
        if word == "engine" and value == flat.get(f"{ROLLOUT}.name"):
            continue
        teacher[word] = value
    eager = flat.get(f"{home}.inference.enforce_eager")
    if eager is not None and not (own and eager):
        teacher["cuda_graphs"] = not eager
    engine = flat.get(f"{home}.inference.name")
    prefix = f"{home}.inference.engine_kwargs.{engine}."
    args = {found[len(prefix) :]: value for found, value in flat.items() if found.startswith(prefix)}
    return teacher | ({"engine_args": nested(args)} if args else {})


TEACHER_DEFAULTS: Mapping[str, Any] = {
    "tensor_parallel": 2,
    "data_parallel": 1,
    "memory_fraction": 0.5,
    "max_batched_tokens": 8192,
    "max_sequences": 1024,
}
_FOLLOWED = {"dtype": f"{ROLLOUT}.dtype", "temperature": f"{ROLLOUT}.temperature"}


def nested(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted names as a nested mapping."""
    tree: dict[str, Any] = {}
    for name, value in entries.items():
        *parents, last = name.split(".")
        node = tree
        for part in parents:
            child = node.setdefault(part, {})
            if not isinstance(child, dict):
                child = node[part] = {}
            node = child
        node[last] = value
    return tree


def _path(route: str, key: str) -> Callable[[Flat], Fields | Unsaid]:
    return lambda flat: {route: flat.get(key)} if isinstance(flat.get(key), str) else UNSAID


def _unsaid(flat: Flat) -> Unsaid:
    return UNSAID


SPECIAL: Mapping[str, Callable[[Flat], Fields | Unsaid]] = {
    **dict.fromkeys(
        (f"{ACTOR}.use_kl_loss", f"{ACTOR}.kl_loss_coef", "algorithm.use_kl_in_reward", "algorithm.kl_ctrl.kl_coef"),
        _kl,
    ),
    "trainer.default_local_dir": _absolute("run.checkpoint.folder", "trainer.default_local_dir"),
    "trainer.rollout_data_dir": _folder("run.save_rollouts", "trainer.rollout_data_dir"),
    "trainer.validation_data_dir": _folder("run.save_validations", "trainer.validation_data_dir"),
    "trainer.resume_mode": _resume,
    "trainer.resume_from_path": _resume,
    f"{ACTOR}.strategy": _engine,
    f"{ROLLOUT}.name": _rollout,
    "trainer.use_v1": lambda flat: {"algorithm.trainer": "v1" if flat.get("trainer.use_v1") else "legacy"},
    "trainer.v1.trainer_mode": _mode,
    "trainer.v1.colocate_async.num_warmup_batches": _warmup,
    "trainer.v1.separate_async.num_warmup_batches": _warmup,
    f"{MODEL}.path": _path("agent.model.path", f"{MODEL}.path"),
    f"{CRITIC}.model.path": _path("algorithm.critic.model.path", f"{CRITIC}.model.path"),
    f"{MODEL}.tiled_mlp.enabled": _shards,
    "data.image_key": _path("dataset.columns.images", "data.image_key"),
    "trainer.experiment_name": _path("name", "trainer.experiment_name"),
    **dict.fromkeys((f"{FUNCTION}.path", f"{FUNCTION}.name"), _scorer),
    **dict.fromkeys(tuple(f"{MANAGER}.{name}" for name in ("name", "source", "module.path", "module.name")), _manager),
    f"{REWARD_MODEL}.enable": _reward_path,
    f"{REWARD_MODEL}.enable_resource_pool": _reward_pool,
    f"{REWARD_MODEL}.rollout.name": _path("rewards.model.engine", f"{REWARD_MODEL}.rollout.name"),
    **dict.fromkeys(
        ("trainer.v1.sampler.custom_sampler.path", "trainer.v1.sampler.custom_sampler.name"),
        _class("algorithm.staleness.sampler", "trainer.v1.sampler.custom_sampler"),
    ),
    **dict.fromkeys(
        (f"{ROLLOUT}.agent.custom_async_server.path", f"{ROLLOUT}.agent.custom_async_server.name"),
        _class("hardware.rollout.server", f"{ROLLOUT}.agent.custom_async_server"),
    ),
}
PREFIXES: tuple[tuple[str, Callable[[str, Flat], Fields | Unsaid]], ...] = (
    (f"{TEACHERS}.", _teachers),
    ("distillation.enabled", _teachers),
)
