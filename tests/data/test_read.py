"""Reading: every format gives the same rows, and what is broken is named by file, row and line."""

from __future__ import annotations

import gzip
import json
import time
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from orbiter_spec.data.jsonl import LINE_BYTES
from orbiter_spec.data.problems import SHOWN_PER_KIND, Problems
from orbiter_spec.data.read import read_rows
from orbiter_spec.data.request import SourceRequest
from orbiter_spec.diagnostics import Diagnostic, Place

ROWS = [{"question": "1+1?", "answer": "2"}, {"question": "ü ✓?", "answer": "yes"}]
LINES = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
SPEC_PLACE = Place("spec.yaml", 3, 9)


def read(path: Path, **options: int) -> tuple[list[dict[str, object]], tuple[Diagnostic, ...]]:
    problems = Problems()
    source = SourceRequest(path, place=SPEC_PLACE, shown=path.name, **options)
    rows = [row.fields for row in read_rows(source, problems)]
    return rows, problems.diagnostics()


def write_formats(folder: Path) -> dict[str, Path]:
    paths = {name: folder / name for name in ("a.jsonl", "a.jsonl.gz", "a.json", "a.csv", "a.csv.gz", "a.parquet")}
    csv = "question,answer\n1+1?,2\nü ✓?,yes\n"
    paths["a.jsonl"].write_text(LINES, encoding="utf-8")
    paths["a.jsonl.gz"].write_bytes(gzip.compress(LINES.encode()))
    paths["a.json"].write_text(json.dumps(ROWS), encoding="utf-8")
    paths["a.csv"].write_text(csv, encoding="utf-8")
    paths["a.csv.gz"].write_bytes(gzip.compress(csv.encode()))
    parquet.write_table(pa.Table.from_pylist(ROWS), paths["a.parquet"])
    return paths


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.json", "a.csv", "a.csv.gz", "a.parquet"])
def test_every_format_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    path = write_formats(tmp_path)[name]
    assert read(path) == (ROWS, ())
    assert read(path, limit=1) == (ROWS[:1], ())


def test_byte_order_mark_blank_lines_and_windows_ends_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + LINES.replace("\n", "\r\n\r\n").encode() + b"  \n")
    assert read(path) == (ROWS, ())


BROKEN = [
    (b'{"question": "a" "answer": 1}', "line is not JSON", "expecting ',' delimiter", 18),
    (b'{"question": "a"', "line is not JSON", "the line ends too early", 17),
    (b'{"question": "a\0b"}', "line is not JSON", "the line holds a NUL byte", 16),
    (b'{"question": "\xff"}', "line is not UTF-8", "byte 0xff", 15),
    (b"[1, 2]", "line holds a list, not an object", "", 1),
    (b'{"n": NaN}', "line is not JSON", "NaN is not JSON; use null, or leave the field out", 1),
    (b'{"q": "\\ud800"}', "line is not JSON", "a \\u escape is half of a surrogate pair", 1),
    (b'{"n": ' + b"9" * 5000 + b"}", "line is not JSON", None, 1),
    (b"[" * 100_000, "line is nested too deeply", "", 1),
    (b"broken", "line is not JSON", "expecting value", 1),
]


@pytest.mark.parametrize(("line", "message", "note", "column"), BROKEN, ids=range(len(BROKEN)))
def test_a_broken_line_in_the_middle_is_named_and_passed_over(
    tmp_path: Path, line: bytes, message: str, note: str | None, column: int
) -> None:
    path = tmp_path / "a.jsonl"
    first, second = LINES.encode().splitlines(keepends=True)
    path.write_bytes(first + line + b"\n" + second)
    rows, (found,) = read(path)
    assert rows == ROWS
    assert (found.id, found.message) == ("ORB412", message)
    assert note is None or found.note == note
    assert found.place is not None
    assert (found.place.file, found.place.line, found.place.column) == ("a.jsonl", 2, column)
    assert len(found.place.text) < 500
    assert found.place.text.isprintable()


def test_many_broken_lines_end_in_a_count(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("broken\n" * 1000)
    rows, found = read(path)
    assert rows == []
    assert len(found) == SHOWN_PER_KIND + 1
    assert found[-1].message == f"{1000 - SHOWN_PER_KIND} more findings like these in a.jsonl"


def test_a_line_of_fifty_megabytes_costs_neither_time_nor_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("wb") as stream:
        stream.write(LINES.encode() + b'{"question": "')
        for _ in range(50):
            stream.write(b"x" * 1024**2)
        stream.write(b'"}\n' + LINES.encode())
    started = time.monotonic()
    tracemalloc.start()
    rows, (found,) = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == [*ROWS, *ROWS]
    assert (found.id, found.place.line) == ("ORB412", 3)  # type: ignore[union-attr]
    assert "longer than 32 MB" in found.message
    assert peak < 3 * LINE_BYTES
    assert time.monotonic() - started < 20


def test_a_binary_file_under_a_text_name_is_one_finding(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(bytes(range(256)) * 1000)
    rows, (found,) = read(path)
    assert rows == []
    assert (found.id, found.message, found.place) == ("ORB412", "a.jsonl is not text", SPEC_PLACE)


@pytest.mark.parametrize("kept", [0, 3, 40, -9, -1])
def test_truncated_parquet_is_one_finding_at_the_spec(tmp_path: Path, kept: int) -> None:
    whole = write_formats(tmp_path)["a.parquet"].read_bytes()
    path = tmp_path / "b.parquet"
    path.write_bytes(whole[:kept])
    rows, (found,) = read(path)
    assert rows == []
    assert (found.id, found.place) == ("ORB414", SPEC_PLACE)
    assert "b.parquet is not a readable Parquet file" in found.message
    assert "\n" not in found.note


def test_parquet_damaged_inside_is_found_while_reading(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"q": [f"{i}" * 50 for i in range(5000)]}), path, compression="gzip")
    raw = bytearray(path.read_bytes())
    raw[100:4000] = bytes(3900)
    path.write_bytes(raw)
    _, found = read(path)
    assert [item.id for item in found] == ["ORB414"]


def test_truncated_gzip_is_found_after_its_last_whole_row(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(LINES.encode() * 1000)[:-20])
    _, found = read(path)
    assert [item.id for item in found] == ["ORB414"]
    path.write_bytes(b"not gzip at all")
    assert [item.id for item in read(path)[1]] == ["ORB414"]


def test_missing_file_suggests_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(LINES)
    (found,) = read(tmp_path / "trian.jsonl")[1]
    assert (found.id, found.place, found.help) == ("ORB410", SPEC_PLACE, "did you mean train.jsonl?")
    assert [item.id for item in read(tmp_path / "no" / "where.jsonl")[1]] == ["ORB410"]
    assert [item.id for item in read(tmp_path)[1]] == ["ORB410"]


@pytest.mark.parametrize("name", ["a\0.jsonl", "x" * 5000 + ".jsonl", "a/" * 3000])
def test_names_that_no_file_can_have(tmp_path: Path, name: str) -> None:
    assert [item.id for item in read(tmp_path / name)[1]] == ["ORB410"]


def test_unknown_format_says_which_are_known(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    (found,) = read(tmp_path / "a.xlsx")[1]
    assert found.id == "ORB417"
    assert ".jsonl" in found.help


def test_csv_with_a_short_line_names_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('question,answer\n"a\nb",1\nalone\nc,2\n')
    rows, (found,) = read(tmp_path / "a.csv")
    assert rows == [{"question": "a\nb", "answer": "1"}, {"question": "c", "answer": "2"}]
    assert found.message == "line has 1 values and the header 2 names"
    assert found.place is not None
    assert found.place.line == 4


def test_broken_json_array_points_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[\n {"question": "a"},\n {"question" "b"}\n]')
    (found,) = read(tmp_path / "a.json")[1]
    assert (found.id, found.place.line, found.place.column) == ("ORB412", 3, 14)  # type: ignore[union-attr]
