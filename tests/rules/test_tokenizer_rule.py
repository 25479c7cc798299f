"""A tokenizer without its family's token is told exactly where verl's own builder refuses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.data.tiny_model import write_tiny_model
from orbiter_spec.diagnostics import Severity
from tests.rules.conftest import findings_of, plan_of

SILENT = object()


def tokenizer(folder: Path, token: str, unknown: Any) -> Path:
    """A Qwen model's folder whose tokenizer has `token` for the end of a turn, and `unknown` for what it lacks."""
    folder.mkdir()
    write_tiny_model(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        text = (folder / name).read_text(encoding="utf-8").replace("<|im_end|>", token)
        (folder / name).write_text(text, encoding="utf-8")
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    if unknown is not SILENT:
        config["unk_token"] = unknown
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def told(agent: dict[str, Any]) -> list[Severity]:
    return [found.severity for name, found in findings_of(plan_of({"agent": agent})) if name == "ORB153"]


@pytest.mark.parametrize("token", ["<|im_end|>", "<|end_of_turn|>"])
@pytest.mark.parametrize("unknown", [SILENT, None, "<|endoftext|>"], ids=["silent", "null", "given"])
def test_as_verl_judges(token: str, unknown: Any, tmp_path: Path) -> None:
    pytest.importorskip("verl")
    from transformers import AutoTokenizer
    from verl.utils.tokenizer.continuous_token_wiring import create_continuous_token_builder

    folder = tokenizer(tmp_path / "model", token, unknown)
    loaded = AutoTokenizer.from_pretrained(folder)
    try:
        create_continuous_token_builder(loaded, hf_model_type="qwen2")
        expected: list[Severity] = []
    except ValueError:
        expected = [Severity.ERROR]
    assert told({"model": str(folder)}) == expected
    assert expected == ([Severity.ERROR] if (token, unknown) == ("<|end_of_turn|>", None) else [])


def test_own_loop_plays_it(tmp_path: Path) -> None:
    folder = tokenizer(tmp_path / "model", "<|end_of_turn|>", None)
    assert told({"model": str(folder), "environment": {"class": "envs.py:Game"}}) == []


def test_published_name_is_a_warning() -> None:
    assert told({"model": "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B"}) == [Severity.WARNING]
    assert told({"model": "deepseek-ai/DeepSeek-R1-Distill-Llama-8B"}) == []
