"""The compiled reward function under verl's own loader and reward manager, without Ray."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray.cloudpickle
import torch
from omegaconf import OmegaConf
from verl import DataProto
from verl.trainer.ppo.metric_utils import process_validation_metrics
from verl.trainer.ppo.reward import load_reward_manager
from verl.utils.import_utils import load_extern_object

from orbiter_spec.compiler import compile_spec
from tests.runtime.conftest import copy_reward_path

RESPONSE = "42"


class Characters:
    """As much of a tokenizer as a reward manager uses: one token for each character."""

    def decode(self, ids: Any, **_: Any) -> str:
        return "".join(chr(int(token)) for token in ids)


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiled folder, and the current folder, as verl is started."""
    copy_reward_path(tmp_path)
    declare(tmp_path, "stop")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def declare(folder: Path, on_error: str | float) -> None:
    parts = [
        {"name": "right", "weight": 0.5, "kind": "builtin", "function": "exact_match", "on_error": on_error},
        {"name": "short", "weight": 1, "kind": "builtin", "function": "length_penalty", "args": {"target": 1}},
    ]
    (folder / "rewards.json").write_text(json.dumps({"version": 1, "rewards": parts}))


def manager(name: str) -> Any:
    config = {
        "reward": {
            "custom_reward_function": {"path": "reward.py", "name": "compute_score"},
            "reward_manager": {"source": "register", "name": name},
        }
    }
    return load_reward_manager(OmegaConf.create(config), Characters())


def sample(truth: str | None) -> DataProto:
    response = torch.tensor([[ord(character) for character in RESPONSE]])
    info = {
        "index": 3,
        "split": "train",
        "source": "a.jsonl",
        "row": 4,
        "prompt": "?",
        "expected": None,
        "fields": "{}",
    }
    others = {
        "data_source": np.array(["sums"], dtype=object),
        "reward_model": np.array([{"style": "rule", "ground_truth": truth}], dtype=object),
        "extra_info": np.array([info], dtype=object),
    }
    tensors = {"responses": response, "attention_mask": torch.ones(1, 2, dtype=torch.long)}
    return DataProto.from_dict(tensors=tensors, non_tensors=others)


@pytest.mark.parametrize("name", ["naive", "dapo"])
def test_verls_reward_managers_report_every_part(compiled: Path, name: str) -> None:
    async def score() -> dict[str, Any]:
        result: dict[str, Any] = await manager(name).run_single(sample("42"))
        return result

    result = asyncio.run(score())
    assert result["reward_score"] == -0.5
    assert result["reward_extra_info"] == {"score": -0.5, "right": 1.0, "short": -1.0}


def test_the_penalty_for_long_answers_needs_its_length_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.jsonl").write_text('{"question": "6 x 7", "answer": "42"}\n' * 64)
    (tmp_path / "spec.yaml").write_text(
        "version: 1\nname: long\nagent: {model: builtin:tiny-llama, limits: {response_tokens: 3}}\n"
        "dataset: {train: rows.jsonl}\nrewards: [{builtin: exact_match}]\nhardware: cpu\n"
        "algorithm: {name: dapo, overlong: 2, batch: {prompts: 4}}\n"
    )
    folder = compile_spec(tmp_path / "spec.yaml", tmp_path / "out").folder
    assert folder is not None
    monkeypatch.chdir(folder)

    async def score() -> dict[str, Any]:
        made = load_reward_manager(OmegaConf.load("verl.yaml"), Characters())
        result: dict[str, Any] = await made.run_single(sample("42"))
        return result

    result = asyncio.run(score())
    assert result["reward_score"] == pytest.approx(1.0 - 0.5), "two of three tokens: half of the window"


def test_verl_averages_every_part_in_validation(compiled: Path) -> None:
    compute = load_extern_object("reward.py", "compute_score")
    infos = [compute("sums", response, "42", {}) for response in ("42", "4", "x", "42")]
    lists = {name: [info[name] for info in infos] for name in infos[0]}
    shown = process_validation_metrics(["sums"] * 4, ["a", "b", "c", "d"], lists)["sums"]
    assert shown["right"]["mean@1"] == 0.5
    assert shown["short"]["mean@1"] == -0.5
    assert shown["score"]["mean@1"] == -0.25


def test_the_error_reaches_another_process_with_its_message(compiled: Path) -> None:
    compute = load_extern_object("reward.py", "compute_score")
    with pytest.raises(RuntimeError) as caught:
        compute("sums", "42", None, dict(sample(None)[0].non_tensor_batch["extra_info"]))
    sent = ray.cloudpickle.loads(ray.cloudpickle.dumps(caught.value))
    assert str(sent).startswith(
        "orbiter-spec: reward 'right' (exact_match) failed on sample 3 (a.jsonl row 4, split train)"
    )
    assert str(sent).endswith("raised ValueError: the row has no expected value")


def test_a_part_that_cannot_be_loaded_stops_verl_while_it_starts(compiled: Path) -> None:
    (compiled / "rewards.json").write_text((compiled / "rewards.json").read_text().replace("exact_match", "exact"))
    with pytest.raises(RuntimeError, match=r"Error loading module") as caught:
        manager("naive")
    assert str(caught.value.__cause__).startswith("orbiter-spec: reward 'right' (exact) cannot be loaded")
