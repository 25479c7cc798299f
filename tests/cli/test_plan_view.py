"""The screen of `plan`, drawn from plan.json alone."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from orbiter_spec.cli.plan_view import render_plan
from orbiter_spec.plan import Rows, make_plan
from orbiter_spec.plan.report import plan_json
from orbiter_spec.spec.experiment import Experiment

JUDGE = {"parts": ["rewards.py:score"], "model": {"path": "org/judge", "nodes": 1, "gpus_per_node": 4}}
APART = {"placement": "separate", "nodes": 1, "gpus_per_node": 6, "tensor_parallel": 4}
HARDWARE: dict[str, dict[str, Any]] = {
    "cpu": {"hardware": "cpu", "agent": {"model": "builtin:tiny-llama"}},
    "two nodes": {"hardware": "2x8xH100"},
    "32 nodes": {"hardware": "32x8xH100", "agent": {"model": "Qwen/Qwen2.5-72B-Instruct"}},
    "unknown model": {"hardware": "8xH100", "agent": {"model": "acme/unheard-of"}},
    "unknown accelerator": {"hardware": "8xNovelty"},
    "separate with judge": {"hardware": {"accelerator": "H200", "rollout": APART}, "rewards": JUDGE},
    "critic that does not fit": {
        "hardware": "1x4xRTX4090",
        "algorithm": {"name": "ppo", "distillation": {"teachers": ["org/teacher"], "gpus_per_node": 2}},
    },
    "replica over two nodes": {
        "hardware": {"accelerator": "H100", "nodes": 3, "gpus_per_node": 2, "rollout": {"tensor_parallel": 2}}
    },
}

GPU_ROW = re.compile(r"    +(node \d+ +gpu|actor|rollout|reference|critic)  ")


def screen_data(name: str) -> dict[str, Any]:
    spec = {
        "version": 1,
        "name": "screen",
        "agent": {"model": "Qwen/Qwen2.5-7B-Instruct"},
        "dataset": {"train": "rows.parquet"},
        "rewards": ["rewards.py:score"],
        "algorithm": "grpo",
        **HARDWARE[name],
    }
    return plan_json(make_plan(Experiment.model_validate(spec), Rows(10_000, None)))


@pytest.mark.parametrize("name", HARDWARE)
def test_screen(name: str, snapshot: SnapshotAssertion) -> None:
    assert render_plan(screen_data(name), 100) == snapshot


@pytest.mark.parametrize("name", HARDWARE)
def test_screen_is_drawn_from_the_file(name: str) -> None:
    """Through JSON and back nothing changes, so a plan.json shows what its author saw."""
    content = screen_data(name)
    assert render_plan(json.loads(json.dumps(content)), 100) == render_plan(content, 100)


@pytest.mark.parametrize("name", HARDWARE)
@pytest.mark.parametrize("width", [60, 80, 200])
def test_drawn_pools_keep_to_the_width(name: str, width: int) -> None:
    drawn = render_plan(screen_data(name), width)
    gpu_rows = [line for line in drawn.splitlines() if GPU_ROW.match(line)]
    assert gpu_rows
    assert all(len(line) <= width for line in gpu_rows)


def test_32_nodes_stay_readable() -> None:
    drawn = render_plan(screen_data("32 nodes"), 100)
    assert len(drawn.splitlines()) < 90
    assert "nodes 2-32" in drawn


def test_every_decision_is_a_line_that_loads_as_yaml() -> None:
    from ruamel.yaml import YAML

    content = screen_data("two nodes")
    block = render_plan(content, 100).split("to fix it\n")[1]
    lines = [line for line in block.splitlines() if not line.startswith("  (")]
    loaded = YAML(typ="safe", pure=True).load("\n".join(lines))
    for decision in content["decisions"]:
        if decision["by"] == "follow_actor":
            continue
        found = loaded
        for step in decision["field"].split("."):
            found = found[step]
        assert found == decision["value"], decision["field"]
