"""verl's own dataset class reads what we build, and the reward function reads the rows back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.data.build import build
from orbiter_spec.data.request import Columns, DatasetRequest, SourceRequest, TemplateRequest
from orbiter_spec.data.tiny_model import write_tiny_model

pytest.importorskip("verl")

ROWS: list[dict[str, Any]] = [
    {"question": "1+1?", "answer": 2, "hint": "add"},
    {"question": "2+2? ü ✓", "answer": "four", "more": [1, {"deep": None}]},
    {"question": "x" * 400, "answer": None},
]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from transformers import AutoTokenizer

    folder = tmp_path_factory.mktemp("model")
    write_tiny_model(folder)
    return AutoTokenizer.from_pretrained(folder)


def dataset_of(path: Path, tokenizer: Any, **options: Any) -> Any:
    from omegaconf import OmegaConf
    from verl.utils.dataset.rl_dataset import RLHFDataset

    config = {"prompt_key": "prompt", "max_prompt_length": 128, "cache_dir": str(path.parent / "cache"), **options}
    return RLHFDataset(str(path), tokenizer, OmegaConf.create(config))


def built(folder: Path, **options: Any) -> Path:
    source = folder / "sums.jsonl"
    source.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS), encoding="utf-8")
    request = DatasetRequest(
        (SourceRequest(source, shown="sums.jsonl"),),
        prompt=TemplateRequest("Q: {{ question }}"),
        instructions=TemplateRequest("Be brief."),
        **options,
    )
    return build(request, folder / "data").files[0]


def test_verl_reads_every_row(tmp_path: Path, tokenizer: Any) -> None:
    dataset = dataset_of(built(tmp_path), tokenizer, filter_overlong_prompts=False)
    assert len(dataset) == 3
    row = dataset[1]
    assert row["raw_prompt"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Q: 2+2? ü ✓"},
    ]
    assert (row["data_source"], row["index"], row["tools_kwargs"]) == ("sums", 1, {})
    assert row["reward_model"] == {"style": "rule", "ground_truth": "four"}
    assert [dataset[i]["reward_model"]["ground_truth"] for i in (0, 2)] == ["2", None]


def test_verl_filters_long_prompts_by_its_own_count(tmp_path: Path, tokenizer: Any) -> None:
    dataset = dataset_of(built(tmp_path), tokenizer, filter_overlong_prompts=True, filter_overlong_prompts_workers=1)
    assert [dataset[i]["index"] for i in range(len(dataset))] == [0, 1]


def test_verl_collates_the_rows_into_a_batch(tmp_path: Path, tokenizer: Any) -> None:
    from verl.utils.dataset.rl_dataset import collate_fn

    dataset = dataset_of(built(tmp_path), tokenizer, filter_overlong_prompts=False)
    batch = collate_fn([dataset[i] for i in range(3)])
    assert batch["dummy_tensor"].shape == (3, 1)
    assert list(batch["index"]) == [0, 1, 2]


def test_rows_come_back_as_they_were(tmp_path: Path, tokenizer: Any) -> None:
    from orbiter_spec.runtime import reward

    dataset = dataset_of(built(tmp_path), tokenizer, filter_overlong_prompts=False)
    for position, original in enumerate(ROWS):
        row = dataset[position]
        sample = reward._sample(
            row["data_source"], "response", row["reward_model"]["ground_truth"], dict(row["extra_info"])
        )
        assert sample["row"] == original
        assert sample["expected"] == original["answer"]
        assert sample["prompt"] == f"Q: {original['question']}"
        assert sample["extra_info"]["question"] == original["question"]
        assert (sample["extra_info"]["source"], sample["extra_info"]["row"]) == ("sums.jsonl", position + 1)


def test_validation_rows_read_alike(tmp_path: Path, tokenizer: Any) -> None:
    built(tmp_path, fraction=0.34, columns=Columns(input="question"))
    dataset = dataset_of(tmp_path / "data" / "validation.parquet", tokenizer, filter_overlong_prompts=False)
    assert len(dataset) == 1
    assert dataset[0]["extra_info"]["split"] == "validation"
