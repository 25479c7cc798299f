"""The quick way and the careful way agree: rows, files, findings."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.data import blocks
from orbiter_spec.data.blocks import NotPlainError, Packed, first, marks_of, read_blocks, select, unmarked
from orbiter_spec.data.build import build, step_context
from orbiter_spec.data.building import Build
from orbiter_spec.data.flow import Flow
from orbiter_spec.data.problems import Problems
from orbiter_spec.data.read import Row, read_rows
from orbiter_spec.data.request import DatasetRequest, SourceRequest, StepRequest

LINE = '{"question": "q%d", "answer": %d, "x": [1.5, null, {"é": 123456789012345678901234567890}]}'


def text(count: int, newline: str = "\n") -> str:
    return newline.join(LINE % (number, number) for number in range(count)) + newline


def both(source: SourceRequest) -> tuple[list[Any], list[Any]]:
    """Rows by blocks and one by one, without their lines."""
    problems = Problems()
    slow = [(row.number, row.fields) for row in read_rows(source, problems)]
    assert not problems.any
    return [(row.number, row.fields) for block in read_blocks(source) for row in block], slow


@pytest.mark.parametrize(
    "content",
    [
        text(3000),
        text(5, "\r\n"),
        text(3).rstrip("\n"),
        "\n\n" + text(3) + " \t\n" + text(2) + "\n\n",
        "\ufeff" + text(2),
        "",
        " \n",
        '  {"a": 1}  \n{"a":\t2}\r\n',
    ],
    ids=["many", "crlf", "no end", "blank", "bom", "empty", "space", "padded"],
)
@pytest.mark.parametrize("size", [64, blocks.BLOCK_BYTES])
def test_blocks_hold_the_rows_of_the_careful_reader(
    tmp_path: Path, content: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
    (tmp_path / "a.jsonl").write_bytes(content.encode())
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(content.encode()))
    for name in ("a.jsonl", "a.jsonl.gz"):
        quick, slow = both(SourceRequest(tmp_path / name))
        assert quick == slow


@pytest.mark.parametrize("limit", [1, 1023, 1024, 1025, 2999, 3000, 3001])
def test_a_limit_cuts_a_block(tmp_path: Path, limit: int) -> None:
    (tmp_path / "a.jsonl").write_text(text(3000), encoding="utf-8")
    quick, slow = both(SourceRequest(tmp_path / "a.jsonl", limit=limit))
    assert quick == slow
    assert len(quick) == min(limit, 3000)


@pytest.mark.parametrize(
    "bad",
    [
        b'{"a":\n1}\n{} {}\n',
        b"[1]\n",
        b'{"a": NaN}\n',
        b"\xff\n",
        b"{\n",
        b'{"a": 1} {"b": 2}\n',
        b'{"a": "\\ud800"}\n',
    ],
)
def test_what_is_not_plain_is_left_to_the_careful_reader(tmp_path: Path, bad: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(text(2).encode() + bad)
    with pytest.raises(NotPlainError):
        [row for block in read_blocks(SourceRequest(tmp_path / "a.jsonl")) for row in block]
    result = build(DatasetRequest((SourceRequest(tmp_path / "a.jsonl"),)), tmp_path / "out", workers=2)
    assert {found.id for found in result.diagnostics} == {"ORB412"}
    assert result.diagnostics[0].place is not None
    assert result.diagnostics[0].place.line == 3
    assert list(tmp_path.glob("out/*")) == []


def test_what_only_the_quick_reader_refuses_is_built(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"question": "q", "answer": 1e400}\n', encoding="utf-8")
    result = build(DatasetRequest((SourceRequest(tmp_path / "a.jsonl"),)), tmp_path / "out")
    assert (result.diagnostics, result.train_rows) == ((), 1)


def requests(folder: Path) -> list[DatasetRequest]:
    source, other = SourceRequest(folder / "a.jsonl", shown="a"), SourceRequest(folder / "b.jsonl", shown="b", group=1)
    plain = DatasetRequest((source, other), seed=7)
    steps = (StepRequest("filter", {"expression": "answer % 3"}), StepRequest("shuffle"), StepRequest("deduplicate"))
    return [
        plain,
        replace(plain, fraction=0.1),
        replace(plain, fraction=0.1, validation_limit=3, pipeline=steps),
        replace(plain, validation=(other,), validation_limit=1500),
        replace(plain, held_out=("answer", "7")),
        replace(
            plain, train=(replace(source, group_limit=2500), other), pipeline=(StepRequest("sample", {"rows": 50}),)
        ),
        replace(plain, pipeline=(*steps, StepRequest("split", {"fraction": 0.2}))),
    ]


@pytest.mark.parametrize("number", range(7))
def test_both_ways_build_the_same_rows(tmp_path: Path, number: int) -> None:
    from pyarrow import parquet

    (tmp_path / "a.jsonl").write_text(text(3000), encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(text(2000), encoding="utf-8")
    request = requests(tmp_path)[number]
    quick = build(request, tmp_path / "quick", workers=2)
    slow = Build(request, tmp_path / "slow", False, Flow(step_context(request))).run()
    assert quick.diagnostics == slow.diagnostics
    assert (quick.train_rows, quick.validation_rows, quick.facts) == (slow.train_rows, slow.validation_rows, slow.facts)
    assert [step.as_json() for step in quick.steps] == [step.as_json() for step in slow.steps]
    assert [path.name for path in quick.files] == [path.name for path in slow.files]
    for one, other in zip(quick.files, slow.files, strict=True):
        assert parquet.read_table(one).to_pylist() == parquet.read_table(other).to_pylist()
    again = build(request, tmp_path / "again", workers=1)
    assert [path.read_bytes() for path in again.files] == [path.read_bytes() for path in quick.files]


def test_packed_rows_are_chosen_without_being_looked_at() -> None:
    source = SourceRequest(Path("a"))
    rows = [Row(source, number, {"n": number}, None, number % 2, bytes([number])) for number in range(6)]
    packed = Packed.of(rows)
    some = select(select(packed, [True, False, True, True, True, True]), [False, True, True, True, False])
    assert [row.number for row in some] == [2, 3, 4]
    assert marks_of(some) == [b"\x02", b"\x03", b"\x04"]
    assert [row.copy for row in first(some, 2)] == [0, 1]
    assert marks_of(unmarked(some)) == [b"", b"", b""]
    assert select(packed, [True] * 6) is packed
    assert json.dumps([row.fields for row in packed]) == json.dumps([row.fields for row in rows])
