"""Prepared files: what verl cannot use is said before it reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from orbiter_spec.compiler import check

SPEC = """\
version: 1
name: prepared
agent: {{model: builtin:tiny-llama}}
dataset: {{train: {file}, prepared: true{more}}}
rewards: [{{builtin: exact_match}}]
algorithm: {{name: grpo, batch: {{prompts: 4, samples_per_prompt: 4}}}}
hardware: cpu
"""
WHOLE = {
    "prompt": [[{"role": "user", "content": "1+1?"}]] * 8,
    "data_source": ["sums"] * 8,
    "reward_model": [{"ground_truth": "2"}] * 8,
}


def found(folder: Path, columns: dict[str, Any], file: str = "rows.parquet", more: str = "") -> list[tuple[str, str]]:
    parquet.write_table(pa.table(columns), folder / "rows.parquet")
    (folder / "cut.parquet").write_bytes((folder / "rows.parquet").read_bytes()[:300])
    (folder / "rows.json").write_text("[]", encoding="utf-8")
    (folder / "spec.yaml").write_text(SPEC.format(file=file, more=more), encoding="utf-8")
    report = check(str(folder / "spec.yaml")).report
    return [(one.id, str(one.severity)) for one in report if one.id.startswith(("ORB4", "ORB9"))]


def test_a_whole_file(tmp_path: Path) -> None:
    assert found(tmp_path, WHOLE) == []
    assert found(tmp_path, WHOLE, file="rows.json") == [], "verl reads these itself, and they are not counted"


@pytest.mark.parametrize(("name", "severity"), [("prompt", "error"), ("data_source", "warning")])
def test_a_column_that_is_not_there(tmp_path: Path, name: str, severity: str) -> None:
    columns = {("other" if key == name else key): value for key, value in WHOLE.items()}
    assert found(tmp_path, columns) == [("ORB459", severity)]
    field = {"prompt": "prompt", "data_source": "scorer"}[name]
    assert found(tmp_path, columns, more=f", columns: {{{field}: other}}") == []


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    assert found(tmp_path, WHOLE, file="cut.parquet") == [("ORB459", "error")]


def test_a_pattern_that_matches_nothing(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(
        SPEC.format(file='"none/*.jsonl"', more="").replace(", prepared: true", ""), encoding="utf-8"
    )
    (problem,) = check(str(tmp_path / "spec.yaml")).report
    assert problem.id == "ORB410" and problem.message == "no file matches none/*.jsonl"
