"""Layers over Megatron's stages: our verdict beside the arithmetic that verl keeps of Megatron's.

Megatron is not installed here, so verl's module cannot be imported; its one function is read from the file and run. It
says nothing where the first and the last stage are all stages and layers are left over: the model is then cut short.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orbiter_spec.rules import orb240_stages_split_layers as rule
from tests.rules.conftest import plan_of

LAYERS = 28
"""Of Qwen2.5-7B-Instruct."""

GRID = [
    (stages, virtual, first, last, counted)
    for stages, virtual, first, last, counted in product(
        (1, 2, 4, 7, 8), (None, 2, 3), (None, 4, 6), (None, 4, 10), (None, "count_loss")
    )
    if not (counted and (first or last)) and not (stages == 1 and (virtual or first or last))
]


@pytest.fixture(scope="module")
def build() -> Callable[..., int]:
    found = importlib.util.find_spec("verl")
    if found is None or found.origin is None:
        pytest.skip("needs verl")
    file = Path(found.origin).parent / "utils" / "megatron" / "router_replay_utils.py"
    function = next(
        node
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == "get_num_layers_to_build"
    )
    first = {"is_vp_first_stage": lambda stage, size: size in (None, 1) or stage == 0}
    last = {"is_vp_last_stage": lambda stage, size: size in (None, 1) or stage == size - 1}
    space: dict[str, Any] = {"TransformerConfig": object, **first, **last}
    exec(compile(ast.Module([function], []), str(file), "exec"), space)
    result: Callable[..., int] = space["get_num_layers_to_build"]
    return result


def verl_builds(build: Callable[..., int], case: tuple[Any, ...]) -> bool:
    stages, virtual, first, last, counted = case
    config = SimpleNamespace(
        num_layers=LAYERS,
        pipeline_model_parallel_size=stages,
        virtual_pipeline_model_parallel_size=virtual,
        num_layers_in_first_pipeline_stage=first,
        num_layers_in_last_pipeline_stage=last,
        account_for_embedding_in_pipeline_split=False,
        account_for_loss_in_pipeline_split=bool(counted),
    )
    try:
        held = [build(config, part, rank) for rank in range(stages) for part in range(virtual or 1)]
    except AssertionError:
        return False
    return sum(held) == LAYERS


@pytest.mark.parametrize("case", GRID, ids=str)
def test_refused_where_verl_does_not_build_all_layers(build: Callable[..., int], case: tuple[Any, ...]) -> None:
    stages, virtual, first, last, counted = case
    pipeline = {"first_layers": first, "last_layers": last, **({counted: True} if counted else {})}
    train = {
        "engine": "megatron",
        "pipeline_parallel": stages,
        "pipeline": {word: value for word, value in pipeline.items() if value},
        **({"virtual_pipeline": virtual} if virtual else {}),
    }
    hardware = {"nodes": stages, "gpus_per_node": 8, "train": train}
    found = list(rule.check(plan_of({"agent": {"model": "Qwen/Qwen2.5-7B-Instruct"}, "hardware": hardware})))
    assert bool(found) is not verl_builds(build, case), found


def test_the_reference_follows_the_policy() -> None:
    pipeline = {"engine": "megatron", "pipeline_parallel": 8, "pipeline": {"first_layers": 2, "last_layers": 2}}
    agent = {"model": "Qwen/Qwen2.5-7B-Instruct"}
    kl = {"name": "grpo", "kl": {"apply": "loss", "coefficient": 0.1}}
    hardware: dict[str, Any] = {"nodes": 8, "gpus_per_node": 8, "train": pipeline}
    assert list(rule.check(plan_of({"agent": agent, "algorithm": kl, "hardware": hardware}))) == []
    hardware["reference"] = {"pipeline_parallel": 4}
    assert list(rule.check(plan_of({"agent": agent, "algorithm": kl, "hardware": hardware}))) == []
    hardware["reference"] = {"pipeline_parallel": 16}
    routes = [found.route for found in rule.check(plan_of({"agent": agent, "algorithm": kl, "hardware": hardware}))]
    assert routes == ["hardware.reference.pipeline_parallel"]
