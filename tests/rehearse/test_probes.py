"""Planted wiring mistakes that the tokenizer shows, found before anything starts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from orbiter_spec.data.tiny_model import CHAT_TEMPLATE, write_tiny_model
from orbiter_spec.rehearse.rehearsal import Rehearsal, rehearse
from orbiter_spec.rehearse.token_probe import look

pytest.importorskip("transformers")
pytestmark = pytest.mark.timeout(400)

SPEC = """\
version: 1
name: planted
agent:
  model: ./model
  prompt: "{{ question }}"
  limits: {prompt_tokens: 64, response_tokens: RESPONSE}
dataset:
  train: rows.jsonl
  validation: {fraction: 0.1}
rewards: [{builtin: numeric_match}]
algorithm: grpo
hardware: 8xH100
"""


def planted(
    folder: Path, change: Callable[[Path], None], response_tokens: int = 16, answer: str = "12", run: bool = True
) -> Rehearsal:
    write_tiny_model(folder / "model")
    change(folder / "model")
    rows = [json.dumps({"question": f"say {number}", "answer": answer}) for number in range(32)]
    (folder / "rows.jsonl").write_text("\n".join(rows))
    (folder / "spec.yaml").write_text(SPEC.replace("RESPONSE", str(response_tokens)))
    return rehearse(folder / "spec.yaml", run=run)


def set_json(path: Path, name: str, value: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))


def test_template_without_assistant_turn(tmp_path: Path) -> None:
    closed = CHAT_TEMPLATE[: CHAT_TEMPLATE.index("{% if add_generation_prompt")]
    done = planted(tmp_path, lambda model: set_json(model / "tokenizer_config.json", "chat_template", closed))
    (found,) = done.report
    assert found.id == "ORB564"
    assert "opens no assistant turn" in found.message
    assert done.state is None


def test_template_that_raises(tmp_path: Path) -> None:
    raising = "{{ raise_exception('only even turns') }}"
    done = planted(tmp_path, lambda model: set_json(model / "tokenizer_config.json", "chat_template", raising))
    (found,) = done.report
    assert found.id == "ORB447", "the rows are not even built"
    assert "only even turns" in f"{found.message} {found.note}"


def test_tokenizer_with_more_ids_than_the_model(tmp_path: Path) -> None:
    done = planted(tmp_path, lambda model: set_json(model / "config.json", "vocab_size", 200))
    (found,) = done.report
    assert found.id == "ORB563"
    assert "258" in str(found.note)
    assert "200" in str(found.note)


def test_tokenizer_of_a_model_with_many_more_ids(tmp_path: Path) -> None:
    (found,) = planted(tmp_path, lambda model: set_json(model / "config.json", "vocab_size", 32000), run=False).report
    assert (found.id, found.severity) == ("ORB571", "warning")
    assert "259" in str(found.note)


def test_model_and_tokenizer_that_end_differently(tmp_path: Path) -> None:
    (found,) = planted(
        tmp_path, lambda model: set_json(model / "config.json", "eos_token_id", [7, 9]), run=False
    ).report
    assert (found.id, found.severity) == ("ORB572", "warning")
    assert "7 and 9" in str(found.note)


def test_tokenizer_without_an_end_token(tmp_path: Path) -> None:
    done = planted(tmp_path, lambda model: set_json(model / "tokenizer_config.json", "eos_token", None), run=False)
    assert "ORB572" in [found.id for found in done.report]
    assert any("no end token" in found.message for found in done.report)


def test_template_that_ends_answers_with_another_token(tmp_path: Path) -> None:
    other = CHAT_TEMPLATE.replace("<|im_end|>", "</s>")
    done = planted(tmp_path, lambda model: set_json(model / "tokenizer_config.json", "chat_template", other), run=False)
    (found,) = done.report
    assert found.id == "ORB573"


def test_answers_longer_than_the_limit(tmp_path: Path) -> None:
    done = planted(tmp_path, lambda model: None, response_tokens=4, answer="123456789")
    (found,) = done.report
    assert (found.id, found.severity) == ("ORB565", "error")
    assert "longest 9" in str(found.note)
    assert found.place is not None
    assert "response_tokens" in found.place.text


def test_tokenizer_that_cannot_be_loaded(tmp_path: Path) -> None:
    done = planted(tmp_path, lambda model: (model / "tokenizer.json").write_text("{"))
    assert [found.id for found in done.report] == ["ORB562"]


def test_lengths_are_those_of_the_tokenizer(tmp_path: Path) -> None:
    done = planted(tmp_path, lambda model: None, response_tokens=4, answer="123456789")
    assert done.folder is not None and done.model is not None
    question = {
        "tokenizer": str(done.model.folder),
        "chat_template": None,
        "rows": str(done.folder.compiled / "data" / "train.parquet"),
        "trust_remote_code": False,
    }
    facts = look(question)
    assert facts.largest_id == 258
    assert facts.opens_turn
    assert set(facts.answer_tokens) == {9}
    assert min(facts.prompt_tokens) > len("say 1")
