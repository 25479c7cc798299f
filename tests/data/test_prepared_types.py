"""Files of rows go together exactly where `datasets` puts them together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from orbiter_spec.compiler import check
from orbiter_spec.data.prepared_types import fits

MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
TYPES: dict[str, pa.DataType] = {
    "number": pa.int64(),
    "small number": pa.int32(),
    "text": pa.string(),
    "large text": pa.large_string(),
    "messages": pa.list_(MESSAGE),
    "messages the other way round": pa.list_(pa.struct([("content", pa.string()), ("role", pa.string())])),
    "no messages": pa.list_(pa.null()),
    "large list": pa.large_list(MESSAGE),
    "answer": pa.struct([("ground_truth", pa.string())]),
    "answer and style": pa.struct([("style", pa.string()), ("ground_truth", pa.string())]),
    "number as answer": pa.struct([("ground_truth", pa.int64())]),
}


def written(folder: Path, name: str, kind: pa.DataType) -> str:
    path = folder / f"{name}.parquet"
    parquet.write_table(pa.table({"id": pa.array([1, 2]), "column": pa.nulls(2, kind)}), path)
    return str(path)


@pytest.mark.parametrize("one", sorted(TYPES))
def test_as_datasets_judges(one: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    loaded = {}
    for name, kind in TYPES.items():
        path = written(tmp_path, name.replace(" ", "-"), kind)
        loaded[name] = datasets.load_dataset("parquet", data_files=path, cache_dir=str(tmp_path / "cache"))["train"]
    for other in TYPES:
        try:
            datasets.concatenate_datasets([loaded[one], loaded[other]])
            together = True
        except (ValueError, pa.ArrowException):
            together = False
        assert fits(TYPES[one], TYPES[other]) is together, (one, other)


def test_nothing_fits_everything() -> None:
    assert all(fits(pa.null(), kind) and fits(kind, pa.null()) for kind in TYPES.values())


def rows(**replaced: Any) -> pa.Table:
    row = {
        "prompt": [{"role": "user", "content": "1+1?"}],
        "data_source": "sums",
        "reward_model": {"ground_truth": "2"},
        **replaced,
    }
    return pa.Table.from_pylist([row] * 8)


def findings(folder: Path, files: str, agent: str = "") -> list[tuple[str, str]]:
    text = f"""version: 1
name: prepared
agent: {{model: builtin:tiny-llama{agent}}}
dataset: {{{files}, prepared: true}}
rewards: verl
algorithm: {{name: grpo, batch: {{prompts: 4, samples_per_prompt: 4}}}}
hardware: cpu
"""
    (folder / "spec.yaml").write_text(text, encoding="utf-8")
    report = check(str(folder / "spec.yaml")).report
    return [(found.id, str(found.severity)) for found in report if found.id == "ORB459"]


def test_files_of_one_split_are_compared(tmp_path: Path) -> None:
    parquet.write_table(rows(), tmp_path / "a.parquet")
    parquet.write_table(rows(reward_model={"ground_truth": 2}), tmp_path / "b.parquet")
    assert findings(tmp_path, "train: [a.parquet, b.parquet]") == [("ORB459", "error")]
    assert findings(tmp_path, "train: a.parquet, validation: b.parquet") == []


def test_text_is_no_list_of_messages(tmp_path: Path) -> None:
    parquet.write_table(rows(prompt="1+1?"), tmp_path / "a.parquet")
    (tmp_path / "loops.yaml").write_text("[]", encoding="utf-8")
    assert findings(tmp_path, "train: a.parquet") == [("ORB459", "error")]
    assert findings(tmp_path, "train: a.parquet", ", loop: mine, loop_config: loops.yaml") == [("ORB459", "warning")]
