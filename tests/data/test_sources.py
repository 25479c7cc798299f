"""Where rows come from: compressed files, patterns and folders, saved datasets, weights, and what is held out."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from orbiter_spec.compiler import compile_spec
from orbiter_spec.data.build import build, check
from orbiter_spec.data.opening import matching_files
from orbiter_spec.data.problems import Problems
from orbiter_spec.data.read import read_rows
from orbiter_spec.data.request import DatasetRequest, HubRequest, SourceRequest, StepRequest

ROWS = [{"question": f"{index}?", "answer": index, "level": {"name": "é"}} for index in range(50)]
TEXT = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()


def zstd(data: bytes) -> bytes:
    return pyarrow.Codec("zstd").compress(data, asbytes=True)


PACKED = {"gz": gzip.compress(TEXT), "bz2": bz2.compress(TEXT), "xz": lzma.compress(TEXT), "zst": zstd(TEXT)}


def read(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    problems = Problems()
    rows = [row.fields for row in read_rows(SourceRequest(path), problems)]
    return rows, [found.id for found in problems.diagnostics()]


@pytest.mark.parametrize("suffix", PACKED)
def test_compressed_lines(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.jsonl.{suffix}"
    path.write_bytes(PACKED[suffix])
    assert read(path) == (ROWS, [])


@pytest.mark.parametrize("suffix", PACKED)
def test_compressed_files_that_end_early(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.jsonl.{suffix}"
    path.write_bytes(PACKED[suffix][: len(PACKED[suffix]) // 2])
    rows, found = read(path)
    assert len(rows) < 50
    assert set(found) <= {"ORB414", "ORB412"} and found


def test_frames_one_after_the_other_are_one_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.zst"
    path.write_bytes(PACKED["zst"] + PACKED["zst"])
    assert read(path) == (ROWS * 2, [])


def test_a_dataset_that_was_saved_to_disk(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_list(ROWS).save_to_disk(tmp_path / "saved", num_shards=2)
    parts = matching_files(tmp_path / "saved")
    assert [part.suffix for part in parts] == [".arrow", ".arrow"]
    assert [row for part in parts for row in read(part)[0]] == ROWS


def test_patterns_and_folders_mean_their_files_in_order(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.csv", "notes.txt", ".hidden.jsonl", "deep/c.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    assert [path.name for path in matching_files(tmp_path)] == ["a.csv", "b.jsonl"]
    assert [path.name for path in matching_files(tmp_path / "*.jsonl")] == ["b.jsonl"]
    assert [path.name for path in matching_files(tmp_path / "**/*.jsonl")] == ["b.jsonl", "c.jsonl"]
    (tmp_path / "[odd].jsonl").write_text("x", encoding="utf-8")
    assert matching_files(tmp_path / "[odd].jsonl") == [tmp_path / "[odd].jsonl"]


SPEC = """\
version: 1
name: sources
agent: {{model: "builtin:tiny-llama", limits: {{prompt_tokens: 64, response_tokens: 8}}}}
dataset: {dataset}
rewards: [{{builtin: exact_match}}]
algorithm: {{name: grpo, batch: {{prompts: 4, samples_per_prompt: 4}}}}
hardware: cpu
"""


def compiled(folder: Path, dataset: dict[str, Any]) -> list[dict[str, Any]]:
    (folder / "spec.yaml").write_text(SPEC.format(dataset=json.dumps(dataset)), encoding="utf-8")
    done = compile_spec(folder / "spec.yaml", folder / "out")
    assert done.folder is not None, [f"{found.id} {found.message}" for found in done.report]
    return parquet.read_table(done.folder / "data/train.parquet").to_pylist()


def test_a_pattern_in_a_spec_names_its_rows_after_the_folder_and_is_limited_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    for shard in range(3):
        (tmp_path / f"shards/part-{shard}.jsonl").write_bytes(TEXT)
    rows = compiled(tmp_path, {"train": {"path": "shards/part-*.jsonl", "limit": 70}})
    assert Counter(row["extra_info"]["source"] for row in rows) == {
        "shards/part-0.jsonl": 50,
        "shards/part-1.jsonl": 20,
    }
    assert {row["data_source"] for row in rows} == {"shards"}
    assert len(compiled(tmp_path, {"train": "shards"})) == 150


def test_a_pattern_without_files_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC.format(dataset='{"train": "none-*.jsonl"}'), encoding="utf-8")
    assert [found.id for found in compile_spec(tmp_path / "spec.yaml", tmp_path / "out").report] == ["ORB410"]


def sources(folder: Path, *counts: int, weights: tuple[float | None, ...]) -> tuple[SourceRequest, ...]:
    made = []
    for group, (count, weight) in enumerate(zip(counts, weights, strict=True)):
        path = folder / f"{group}.jsonl"
        path.write_text("".join(json.dumps({"question": f"{n}"}) + "\n" for n in range(count)), encoding="utf-8")
        made.append(SourceRequest(path, group=group, weight=weight, shown=path.name))
    return tuple(made)


@pytest.mark.parametrize("steps", [(), (StepRequest("shuffle"),)])
def test_weights_are_shares_and_no_row_comes_twice(tmp_path: Path, steps: tuple[StepRequest, ...]) -> None:
    request = DatasetRequest(sources(tmp_path, 100, 400, 90, weights=(1.0, 3.0, 0.5)), pipeline=steps, seed=3)
    result = build(request, tmp_path / "out")
    rows = parquet.read_table(result.files[0]).to_pylist()
    assert Counter(row["data_source"] for row in rows) == {"0": 100, "1": 300, "2": 50}
    assert len({(row["data_source"], row["extra_info"]["row"]) for row in rows}) == 450
    assert check(request).exact is False


def test_a_column_says_what_is_for_validation(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [{"question": f"{n}", "fold": "test" if n % 5 == 0 else "train"} for n in range(100)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    request = DatasetRequest((SourceRequest(path),), held_out=("fold", "test"))
    for result in (check(request), build(request, tmp_path / "out")):
        assert (result.train_rows, result.validation_rows) == (80, 20)
    missing = DatasetRequest((SourceRequest(path),), held_out=("flod", "test"))
    assert {found.id for found in check(missing).diagnostics} == {"ORB411"}


def test_nested_columns_of_every_format(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(TEXT)
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "rows.parquet")
    for name in ("rows.jsonl", "rows.parquet"):
        rows = compiled(tmp_path, {"train": name, "columns": {"expected": "level.name"}})
        assert {row["reward_model"]["ground_truth"] for row in rows} == {"é"}


def test_a_dataset_that_cannot_be_loaded_is_a_finding_of_a_build_and_unknown_to_a_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets")
    request = DatasetRequest((SourceRequest(tmp_path / "x", hub=HubRequest("nobody/nothing"), shown="nobody/nothing"),))
    assert check(request).diagnostics == () and check(request).exact is False

    def absent(*_: object, **__: object) -> None:
        raise ConnectionError("no network")

    monkeypatch.setattr(datasets, "load_dataset", absent)
    (found,) = build(request, tmp_path / "out").diagnostics
    assert (found.id, found.note) == ("ORB449", "no network")
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: datasets.Dataset.from_list(ROWS))
    assert build(request, tmp_path / "out").train_rows == 50
