from __future__ import annotations

import io
import os
import time
from pathlib import Path

import pytest

from orbiter_spec.diagnostics import Diagnostic
from orbiter_spec.source import read
from orbiter_spec.source.limits import MAX_BYTES, MAX_LINE
from tests.source.helpers import data, mistake, spot


def refusal(path: Path) -> Diagnostic:
    found_document, found = read(path)
    assert found_document is None
    assert len(found) == 1
    assert found[0].place is not None
    assert found[0].place.file == str(path)
    return found[0]


def written(folder: Path, content: bytes) -> Path:
    path = folder / "spec.yaml"
    path.write_bytes(content)
    return path


def test_missing_file_names_a_near_one(tmp_path: Path) -> None:
    written(tmp_path, b"a: 1")
    found = refusal(tmp_path / "spce.yaml")
    assert found.id == "ORB001"
    assert "spec.yaml" in found.help


def test_missing_folder_and_file_as_folder(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "no" / "spec.yaml").help
    assert refusal(written(tmp_path, b"a: 1") / "spec.yaml").id == "ORB001"


@pytest.mark.parametrize("path", ["/dev/null", "."])
def test_what_is_no_file(path: str) -> None:
    assert refusal(Path(path)).id == "ORB002"


def test_names_the_operating_system_refuses(tmp_path: Path) -> None:
    assert refusal(tmp_path / ("x" * 5000)).id == "ORB002"
    found = read(tmp_path / "a\0b")[1]
    assert [problem.id for problem in found] == ["ORB002"]


def test_name_that_is_no_utf8_can_be_printed(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.yaml")
    found = read(path)[1][0]
    assert found.place is not None
    assert found.place.file.encode("utf-8")


def test_huge_file_is_refused_without_reading(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    with open(path, "wb") as file:
        file.truncate(20_000_000_000)
    start = time.perf_counter()
    assert refusal(path).id == "ORB004"
    assert time.perf_counter() - start < 0.2


def test_bounds_of_text(tmp_path: Path) -> None:
    assert refusal(written(tmp_path, b"#" * (MAX_LINE + 1))).id == "ORB004"
    assert refusal(written(tmp_path, b"#\n" * MAX_BYTES)).id == "ORB004"
    assert mistake("#\n" * MAX_BYTES).id == "ORB004"


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"\x7fELF\x02\x01\0\0\0", (1, 1)),
        (b"a: 1\nb: \0", (2, 4)),
        (b"a: 1\nb: caf\xe9", (2, 7)),
        (b"a: \xff", (1, 4)),
        ("a: 1".encode("utf-16"), (1, 1)),
        (b"a: \x1b[31m", (1, 4)),
        (b"a: \xed\xa0\x80", (1, 4)),
    ],
)
def test_what_is_no_text_is_shown_where_it_starts(tmp_path: Path, content: bytes, place: tuple[int, int]) -> None:
    found = refusal(written(tmp_path, content))
    assert found.id == "ORB003"
    assert spot(found.place) == place
    assert found.place is not None
    assert found.place.text.isprintable()


def test_byte_order_mark_and_line_ends_do_not_count(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbfa: 1\r\nb:\r\n  c: x\r\n")
    found_document, found = read(path)
    assert found == []
    assert found_document is not None
    assert found_document.data == {"a": 1, "b": {"c": "x"}}
    assert spot(found_document.place(("a",), key=True)) == (1, 1)
    place = found_document.place(("b", "c"))
    assert (place.line, place.column, place.width, place.text) == (3, 6, 1, "  c: x")


def test_old_macintosh_line_ends() -> None:
    assert data("a: 1\rb: 2\r") == {"a": 1, "b": 2}


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a: [1,\n")))
    found_document, found = read(None)
    assert found_document is None
    assert found[0].place is not None
    assert found[0].place.file == "<stdin>"
    monkeypatch.setattr("sys.stdin", None)
    assert read(None)[1][0].id == "ORB001"
