"""Findings about the first prompts: one spec each that has the fault, and a sound one that has none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.compiler import check
from orbiter_spec.data.tiny_model import write_tiny_model
from tests.data.test_verl_kinds import picture

SPEC = """\
version: 1
name: prompts
agent: {model: model, limits: {prompt_tokens: 64, response_tokens: 8}}
dataset: {train: rows.jsonl, columns: {images: image}}
rewards: [{builtin: exact_match}]
algorithm: {name: grpo, batch: {prompts: 4, samples_per_prompt: 4}}
hardware: cpu
"""
ROWS = [{"question": f"<image>{index}?", "answer": "a", "image": "dot.png"} for index in range(16)]


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    write_tiny_model(tmp_path / "model")
    (tmp_path / "dot.png").write_bytes(picture("red"))
    write(tmp_path, ROWS)
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    return tmp_path / "spec.yaml"


def write(folder: Path, rows: list[dict[str, Any]]) -> None:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def configured(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "model/tokenizer_config.json"
        config = {**json.loads(path.read_text(encoding="utf-8")), **changes}
        path.write_text(
            json.dumps({key: value for key, value in config.items() if value is not None}), encoding="utf-8"
        )

    return change


def rewritten(**changes: Any) -> Callable[[Path], None]:
    return lambda folder: write(folder, [*ROWS, {**ROWS[0], **changes}])


CASES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no chat template": (configured(chat_template=None), "ORB447"),
    "chat template that fails": (configured(chat_template="{{ raise_exception('no system') }}"), "ORB447"),
    "chat template that cannot be read": (configured(chat_template="{% if %}"), "ORB447"),
    "no generation prompt": (configured(chat_template="{{ messages[0].content }}"), "ORB454"),
    "nothing to pad with": (configured(pad_token=None, eos_token=None), "ORB448"),
    "a long prompt": (rewritten(question="<image>" + "x" * 200), "ORB450"),
    "a broken image": (lambda folder: (folder / "dot.png").write_bytes(b"\x89PNG\r\n"), "ORB451"),
    "no such image": (rewritten(image="none.png"), "ORB451"),
    "an image that no prompt shows": (rewritten(question="What?"), "ORB452"),
}


def found(spec: Path, rows: str) -> list[str]:
    return [finding.id for finding in check(spec, rows=rows).report if finding.id.startswith("ORB4")]  # type: ignore[arg-type]


def test_sound_rows_have_no_findings(spec: Path) -> None:
    assert found(spec, "build") == []


@pytest.mark.parametrize("case", CASES)
def test_a_fault_is_one_finding_of_a_build_and_none_of_a_look(case: str, spec: Path) -> None:
    break_it, id = CASES[case]
    break_it(spec.parent)
    assert found(spec, "build") == [id]
    assert found(spec, "look") == []


def test_rows_of_a_pipeline_are_looked_at_as_they_were_built(spec: Path) -> None:
    spec.write_text(SPEC.replace("train: rows.jsonl", "train: rows.jsonl, pipeline: [{shuffle: 1}]"), encoding="utf-8")
    rewritten(question="<image>" + "x" * 200)(spec.parent)
    assert found(spec, "build") == ["ORB450"]
