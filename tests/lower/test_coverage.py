"""Every field of the language is the origin of a verl key, or stands on the short list of those others consume."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from pydantic.fields import FieldInfo as ModelField

from orbiter_spec.compiler import check
from orbiter_spec.lower.lowering import Lowered, lower
from orbiter_spec.lower.target import load_target
from orbiter_spec.plan import make_plan
from orbiter_spec.spec.base import Section
from orbiter_spec.spec.experiment import Experiment
from orbiter_spec.spec.fields import fields
from tests.conftest import SPECS

CONSUMED_ELSEWHERE: Mapping[str, str] = {
    "version": "binding checks it",
    "extends": "reading merges it",
    "agent.instructions": "becomes rows",
    "agent.prompt": "becomes rows",
    "dataset.train.name": "becomes rows",
    "dataset.train.limit": "becomes rows",
    "dataset.train.weight": "becomes rows",
    "dataset.train.hub.name": "becomes rows",
    "dataset.train.hub.config": "becomes rows",
    "dataset.train.hub.split": "becomes rows",
    "dataset.validation.column": "becomes rows",
    "dataset.validation.value": "becomes rows",
    "dataset.validation.weight": "becomes rows",
    "dataset.validation.hub.name": "becomes rows",
    "dataset.validation.hub.config": "becomes rows",
    "dataset.validation.hub.split": "becomes rows",
    "dataset.train.run.path": "becomes rows",
    "dataset.train.run.answers": "becomes rows",
    "dataset.train.run.best": "becomes rows",
    "dataset.train.run.min_score": "becomes rows",
    "dataset.train.run.max_score": "becomes rows",
    "dataset.validation.fraction": "becomes rows",
    "dataset.validation.name": "becomes rows",
    "dataset.validation.limit": "becomes rows",
    "dataset.columns.input": "becomes rows",
    "dataset.columns.expected": "becomes rows",
    "dataset.columns.chat": "becomes rows",
    "dataset.columns.source": "becomes rows",
    "rewards.combine": "becomes rewards.json",
    "rewards.clip": "becomes rewards.json",
    "hardware.workers": "a CPU run's gpus_per_node",
    "hardware.cluster.kind": "the launcher's business, and Ray's address on a CPU",
    "hardware.cluster.address": "the launcher's business",
    "hardware.cluster.cpus": "Ray's CPUs on a CPU",
    "run.output": "the run folder, made by the launcher",
    "run.retries": "becomes launch.json",
    "run.env": "becomes launch.json",
    "run.secrets": "becomes launch.json",
    **{
        f"hardware.cluster.{name}": "becomes launch.json"
        for name in ("folder", "image", "namespace", "queue", "account", "minutes", "setup")
    },
    "verl.version": "chooses the target",
    "agent.environment.class": "becomes agent.json",
    "agent.environment.gymnasium": "becomes agent.json",
    "agent.environment.verifiers": "becomes agent.json",
    "agent.environment.args": "becomes agent.json",
    "agent.environment.columns": "becomes agent.json",
    "agent.environment.timeout_seconds": "becomes agent.json",
    "agent.environment.retries": "becomes agent.json",
    "agent.environment.on_error": "becomes agent.json",
    "agent.environment.memory_megabytes": "becomes agent.json",
    "agent.environment.concurrent": "becomes agent.json",
    "agent.environment.episodes_per_process": "becomes agent.json",
    "agent.environment.credit": "becomes agent.json",
    "agent.turns.tokens": "becomes agent.json",
    "agent.turns.max_tool_failures": "becomes agent.json",
    "agent.tools[].function": "becomes agent.json",
    "agent.tools[].class": "becomes tools.yaml",
    "agent.tools[].name": "becomes agent.json or tools.yaml",
    "agent.tools[].config": "becomes tools.yaml",
    "agent.tools[].timeout_seconds": "becomes agent.json",
    "agent.tools[].memory_megabytes": "becomes agent.json",
    "agent.tools[].calls_per_process": "becomes agent.json",
    "agent.tools[].on_error": "becomes agent.json",
    "dataset.prepared": "decides whether rows are built",
    "dataset.pipeline": "becomes rows",
    "algorithm.name": "decides other fields",
}
INTO_REWARDS_FILE = "rewards.parts[]."
"""Fields of a part go into rewards.json; `tests/data/test_reward_parts.py` holds that each of them does."""
BASE: Mapping[str, Any] = {
    "version": 1,
    "name": "coverage",
    "agent": {"model": {"path": "Qwen/Qwen2.5-7B-Instruct"}},
    "dataset": {"train": "/data/train.parquet", "prepared": True},
    "rewards": {"scorer": "verl"},
    "algorithm": {"name": "ppo", "kl": {"apply": "both"}},
    "hardware": {"gpus_per_node": 8},
}
NEEDS: Mapping[str, Mapping[str, Any]] = {
    "rewards.model": {"path": "Skywork/Skywork-Reward-V2-Llama-3.1-8B"},
    "rewards.sandbox": {"url": "http://sandbox/run_code"},
    "rewards.args": {},
    "algorithm.distillation": {"teachers": [{"model": "Qwen/Qwen3-32B", "name": "teacher"}]},
    "algorithm.overlong": {"buffer_tokens": 128},
    "run.profile": {"tool": "torch"},
    "algorithm.staleness": {},
    "agent.model.lora": {"rank": 16},
}
TEXTS: Mapping[str, Any] = {
    "name": "other",
    "project": "other",
    "algorithm.distillation.teachers[].name": "other",
    "rewards.scorer": "/code/scorer.py:score",
    "rewards.manager": "prime",
    "algorithm.estimator": "rloo",
    "algorithm.staleness.sampler": "/code/sampler.py:Sampler",
    "hardware.rollout.server": "/code/server.py:Server",
    "dataset.custom_class": "/code/rows.py:Rows",
    "hardware.accelerator": "cpu",
    "run.checkpoint.resume": "/runs/checkpoint",
    "rewards.parts": [{"builtin": "exact_match"}],
    "verl.overrides": {"trainer.use_v1": False},
    "algorithm.distillation.teachers": [{"model": "Qwen/Qwen3-32B"}],
    "dataset.validation": [{"path": "/data/other.parquet"}],
}


def leaf_fields() -> list[str]:
    return [route for route, info in fields().items() if info.section is None]


@pytest.mark.parametrize("route", leaf_fields())
def test_a_field_sets_a_key_or_is_consumed_elsewhere(route: str) -> None:
    changed = any(effects(route))
    if base_route(route) in CONSUMED_ELSEWHERE or route.startswith(INTO_REWARDS_FILE):
        return
    assert changed, f"{route} changes nothing under any engine"


ORIGIN_ELSEWHERE: Mapping[str, str] = {
    "dataset.train.path": "dataset.train",
    "dataset.validation.path[].path": "dataset.validation",
    "algorithm.distillation.teachers[].name": "algorithm.distillation.teachers[].model",
    "verl.defaults": "agent.limits.drop_overlong",
}
"""Fields whose keys are another's: a path of one of its sources, the name of a section, a choice of defaults."""


@pytest.mark.parametrize("route", leaf_fields())
def test_a_field_is_the_origin_of_what_it_sets(route: str) -> None:
    """`explain` and origins.json name the field for at least one of the keys that change with it."""
    if base_route(route) in CONSUMED_ELSEWHERE or route.startswith(INTO_REWARDS_FILE):
        return
    assert ORIGIN_ELSEWHERE.get(base_route(route), ORIGIN_ELSEWHERE.get(route, route)) in origins(route)


def origins(route: str) -> set[str]:
    """The origins of every key that comes, goes or changes with the field."""
    found = set()
    for engine in ("fsdp2", "megatron", "veomni", "torchtitan"):
        for variant in values(route):
            before, after = lowered(experiment(route, None, engine)), lowered(experiment(route, variant, engine))
            if before is None or after is None:
                continue
            for key in {*before.settings, *after.settings}:
                if key not in after.settings or before.settings.get(key, after) != after.settings[key]:
                    found.add(after.routes.get(key) or before.routes[key])
    return {re.sub(r"\[\d+\]", "[]", origin) for origin in found}


def lowered(made: Experiment | None) -> Lowered | None:
    if made is None:
        return None
    paths = {"dataset.train": _paths(made.dataset.train), "dataset.validation": _paths(made.dataset.validation)}
    return lower(make_plan(made, paths={key: value for key, value in paths.items() if value}))


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_every_key_of_an_example_was_written_or_decided(spec: Path) -> None:
    state = check(spec)
    assert state.plan is not None and state.lowered is not None
    said = {*state.plan.given, *(route for route, choice in state.plan.decided.items() if choice.why)}
    for key, route in state.lowered.routes.items():
        base = re.sub(r"\[\d+\].*", "", route)
        assert any(known == base or known.startswith(f"{base}.") or base.startswith(f"{known}.") for known in said), key


def test_the_list_names_fields_that_exist() -> None:
    known = {base_route(route) for route in fields()} | {"dataset.pipeline"}
    assert set(CONSUMED_ELSEWHERE) <= known


def base_route(route: str) -> str:
    if route.startswith("dataset.pipeline[]."):
        return "dataset.pipeline"
    for sources in ("dataset.validation.path[].", "dataset.validation[].", "dataset.validation."):
        route = route.replace(f"{sources}run.", "dataset.train.run.")
    return route.replace("validation.path[].", "validation.").replace("train[].", "train.")


def effects(route: str) -> Iterator[bool]:
    """Whether the field changes the lowered keys, engine by engine."""
    for engine in ("fsdp2", "megatron", "veomni", "torchtitan"):
        for variant in values(route):
            before, after = experiment(route, None, engine), experiment(route, variant, engine)
            if before is not None and after is not None:
                yield settings(before) != settings(after)


def settings(made: Experiment) -> Mapping[str, Any]:
    paths = {"dataset.train": _paths(made.dataset.train), "dataset.validation": _paths(made.dataset.validation)}
    return lower(make_plan(made, paths={key: value for key, value in paths.items() if value})).settings


def _paths(sources: Any) -> list[str]:
    sources = getattr(sources, "path", sources)
    listed = sources if isinstance(sources, list) else [sources]
    return [getattr(source, "path", source) for source in listed if source is not None]


def experiment(route: str, value: Any, engine: str) -> Experiment | None:
    """The base experiment with what the field's section needs, and the field when it has a value."""
    data: dict[str, Any] = _copy(BASE)
    data["hardware"]["train"] = {"engine": engine}
    for section, needed in NEEDS.items():
        if route.replace("[]", "").startswith(section + ".") and needed:
            _put(data, section, _copy(needed))
    if route == "rewards.args" or route.startswith("rewards.parts"):
        data["rewards"] = {"scorer": "/code/scorer.py:score"} if route == "rewards.args" else {}
    if route.startswith("algorithm.staleness.") or route.startswith("hardware.rollout.hybrid"):
        data["hardware"]["rollout"] = {"placement": "separate"}
    if value is not None:
        _put(data, route, value)
    try:
        return Experiment.model_validate(data)
    except ValueError:
        return None


def values(route: str) -> Iterator[Any]:
    """Values that the field may have; the first that binds and differs is enough."""
    if route in TEXTS:
        yield TEXTS[route]
        return
    field = model_field(route)
    yield from _of(field.annotation)


def _of(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _of(get_args(annotation)[0])
    elif origin is Literal:
        yield from get_args(annotation)
    elif origin in (Union, types.UnionType):
        for option in get_args(annotation):
            yield from _of(option)
    elif origin is list:
        inner = next(_of(get_args(annotation)[0]), None)
        yield [inner] * 2
        yield [inner]
    elif origin is dict:
        yield {"zeta": 1}
    elif annotation is bool:
        yield True
        yield False
    elif annotation is int:
        yield 3
    elif annotation is float:
        yield 0.37
    elif annotation is str:
        yield "/some/thing"


def model_field(route: str) -> ModelField:
    section: type[Section] = Experiment
    parts = route.split(".")
    for depth, part in enumerate(parts):
        name = part.removesuffix("[]")
        field = section.model_fields[name]
        info = fields()[".".join(parts[: depth + 1]).removesuffix("[]")]
        if info.section is None or depth == len(parts) - 1:
            return field
        section = info.section
    raise AssertionError(route)


def _put(data: dict[str, Any], route: str, value: Any) -> None:
    node: Any = data
    parts = route.split(".")
    for index, part in enumerate(parts):
        name, listed = part.removesuffix("[]"), part.endswith("[]")
        last = index == len(parts) - 1
        if last:
            node[name] = value
        elif listed:
            items = node.setdefault(name, [{}])
            node = items[0]
        else:
            child = node.get(name)
            if not isinstance(child, dict):
                child = node[name] = {} if child is None else {"path": child}
            node = child


def _copy(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {key: _copy(value) for key, value in data.items()}
    return [_copy(item) for item in data] if isinstance(data, list) else data


def test_every_key_of_the_tables_is_a_key_of_the_target() -> None:
    from orbiter_spec.lower.lowering import TABLE

    target = load_target("0.9.1")
    unknown = [
        (row.field, key)
        for row in TABLE
        for engine in ("dp", "megatron", "veomni", "torchtitan")
        for key in row.keys_for(engine)
        if not target.has(engine, key) and not target.accepts(engine, key)
    ]
    assert unknown == []
