"""Parts of the reward become entries of rewards.json, with every field that was written and no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.compiler import check, compile_spec
from orbiter_spec.spec.rewards import Judge, Reward

JUDGE: dict[str, Any] = {
    "model": "grader",
    "address": "https://judge.example/v1",
    "api_key_env": "JUDGE_KEY",
    "rubric": "Grade {{ response }}.",
    "instructions": "Be fair.",
    "scale": [1.0, 5.0],
    "labels": {"good": 1.0, "bad": 0.0},
    "verdict": {"type": "object", "properties": {"mark": {"enum": ["good", "bad"]}}, "required": ["mark"]},
    "grade": "mark",
    "structured": False,
    "samples": 3,
    "temperature": 0.5,
    "max_tokens": 64,
    "body": {"top_p": 0.9},
    "timeout_seconds": 5.0,
    "retries": 1,
    "concurrency": 2,
    "cache": False,
}
PARTS: list[dict[str, Any]] = [
    {
        "name": "own",
        "function": "rewards.py:score",
        "weight": 0.5,
        "on_error": "skip",
        "error_limit": 0.5,
        "only_if": {"part": "graded", "at_least": 0.5},
        "range": [0.0, 10.0],
        "normalize": "range",
        "clip": [0.0, 0.9],
        "steps": {"split": "\n", "combine": "min", "discount": 0.9, "limit": 4},
        "timeout_seconds": 3.0,
        "memory_megabytes": 256,
        "concurrency": 2,
        "sources": ["rows"],
    },
    {"name": "many", "function": "rewards.py:score", "batch": 8},
    {"name": "graded", "judge": JUDGE},
    {"name": "short", "builtin": "length_penalty", "args": {"target": 8}},
]


def with_rewards(project: Path, rewards: Any) -> Path:
    text = project.read_text(encoding="utf-8")
    project.write_text(text.replace('[{function: "rewards.py:score"}]', json.dumps(rewards)), encoding="utf-8")
    return project


def declared(project: Path, rewards: Any) -> dict[str, Any]:
    compiled = compile_spec(with_rewards(project, rewards), project.parent / "out")
    assert compiled.folder is not None, [str(found) for found in compiled.report]
    found: dict[str, Any] = json.loads((compiled.folder / "rewards.json").read_text(encoding="utf-8"))
    return found


def test_every_field_of_a_part_and_of_a_judge_is_in_the_file(project: Path) -> None:
    found = declared(project, {"parts": PARTS, "combine": "product", "clip": [-1, 1]})
    assert found["combine"] == "product"
    assert found["clip"] == [-1, 1]
    own, many, graded, short = found["rewards"]
    for name, value in PARTS[0].items():
        assert own["function" if name == "function" else name] == ("score" if name == "function" else value), name
    assert many["batch"] == 8
    assert graded["judge"] == JUDGE
    assert set(JUDGE) == set(Judge.model_fields)
    assert {name for item in PARTS for name in item} == set(Reward.model_fields)
    assert short == {
        "name": "short",
        "weight": 1.0,
        "kind": "builtin",
        "path": None,
        "module": None,
        "function": "length_penalty",
        "args": {"target": 8},
        "on_error": "stop",
    }


def test_the_key_of_a_judge_is_in_no_compiled_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-very-secret")
    compiled = compile_spec(with_rewards(project, [{"judge": JUDGE}]), project.parent / "out")
    assert compiled.folder is not None
    for path in compiled.folder.rglob("*"):
        assert not path.is_file() or b"sk-very-secret" not in path.read_bytes(), path


def test_a_part_is_one_of_its_kinds(project: Path) -> None:
    state = check(str(with_rewards(project, [{"builtin": "exact_match", "judge": {"model": "m"}}])))
    assert any("give one of function, builtin and judge" in found.message for found in state.report)


def test_what_the_parts_share_is_beside_them(project: Path) -> None:
    found = declared(
        project,
        {
            "parts": [{"builtin": "reward_model"}],
            "model": {"path": "some/model", "nodes": 1, "gpus_per_node": 8, "tensor_parallel": 1},
            "sandbox": {"url": "http://sandbox:8080/run_code", "concurrent": 8},
        },
    )
    assert found["model"] == {"path": "some/model", "engine": "vllm"}
    assert found["sandbox"] == {"url": "http://sandbox:8080/run_code", "concurrent": 8}


def test_packages_that_the_parts_need_are_named(project: Path) -> None:
    parts = [{"builtin": "numeric_match"}, {"builtin": "similarity"}, {"judge": JUDGE}]
    assert declared(project, parts)["needs"] == ["aiohttp", "jinja2", "jsonschema", "math-verify", "rapidfuzz"]
