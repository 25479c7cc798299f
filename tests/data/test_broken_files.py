"""Broken files, one test each: what is wrong is said with its place, and nothing is written beside it."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from orbiter_spec.data.build import build, check
from orbiter_spec.data.request import BuildResult, DatasetRequest, SourceRequest, StepRequest, TemplateRequest

GOOD = [{"question": f"{index}?", "answer": index} for index in range(3000)]


def lines(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def built(folder: Path, name: str, content: bytes, *steps: StepRequest, **options: Any) -> BuildResult:
    path = folder / name
    path.write_bytes(content)
    result = build(DatasetRequest((SourceRequest(path, shown=name),), pipeline=steps, **options), folder / "out")
    if result.diagnostics:
        assert not list((folder / "out").glob("*")), "nothing is written beside a finding"
    return result


SHUFFLE = StepRequest("shuffle")


@pytest.mark.parametrize("steps", [(), (SHUFFLE,)], ids=["plain", "pipeline"])
def test_a_type_that_changes_half_way(tmp_path: Path, steps: tuple[StepRequest, ...]) -> None:
    mixed: list[Any] = [*GOOD[:1500], *({"question": [1, 2], "answer": "x"} for _ in range(3)), *GOOD[1500:]]
    result = built(tmp_path, "rows.jsonl", lines(mixed), *steps)
    first = result.diagnostics[0]
    assert first.place is not None and (steps or first.place.line == 1501)
    assert {found.id for found in result.diagnostics} == {"ORB416"}
    answers: list[Any] = [*GOOD[:1500], {"question": "q", "answer": {"a": [1]}}, {"question": "q", "answer": None}]
    assert built(tmp_path, "rows.jsonl", lines(answers), *steps).train_rows == 1502


def test_a_filter_over_a_type_that_changes_half_way(tmp_path: Path) -> None:
    mixed: list[Any] = [*GOOD[:1500], {"question": "q", "answer": "many"}]
    result = built(tmp_path, "rows.jsonl", lines(mixed), StepRequest("filter", {"expression": "answer < 10"}))
    (found,) = result.diagnostics
    assert found.id == "ORB441" and "rows.jsonl row 1501" in found.message


@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
def test_a_truncated_parquet(tmp_path: Path, share: float) -> None:
    parquet.write_table(pyarrow.Table.from_pylist(GOOD), tmp_path / "whole.parquet", row_group_size=500)
    whole = (tmp_path / "whole.parquet").read_bytes()
    result = built(tmp_path, "rows.parquet", whole[: int(len(whole) * share)], SHUFFLE)
    assert [found.id for found in result.diagnostics] == ["ORB414"]


def test_a_parquet_with_a_broken_page(tmp_path: Path) -> None:
    parquet.write_table(pyarrow.Table.from_pylist(GOOD), tmp_path / "whole.parquet", row_group_size=500)
    whole = bytearray((tmp_path / "whole.parquet").read_bytes())
    whole[len(whole) // 3 : len(whole) // 3 + 400] = b"\xff" * 400
    result = built(tmp_path, "rows.parquet", bytes(whole), SHUFFLE)
    assert {found.id for found in result.diagnostics} <= {"ORB414", "ORB416"} and result.diagnostics


def test_a_truncated_gzip(tmp_path: Path) -> None:
    packed = gzip.compress(lines(GOOD))
    result = built(tmp_path, "rows.jsonl.gz", packed[: len(packed) // 2], SHUFFLE)
    assert {found.id for found in result.diagnostics} <= {"ORB414", "ORB412"} and result.diagnostics


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ('question,answer\n"a, b",1\n"line\nbreak",2\n"say ""hi""",3\n', 3),
        ("\ufeffquestion,answer\r\na,1\r\n", 1),
        ('question,answer\n"a",1\n\n"b",2\n', 2),
    ],
)
def test_quoting_of_csv(tmp_path: Path, content: str, rows: int) -> None:
    assert built(tmp_path, "rows.csv", content.encode(), SHUFFLE).train_rows == rows


@pytest.mark.parametrize(
    "content", ['question,answer\n"a,1\nb,2\n', 'question,answer\n"a"b,1\n', "question,answer\na,1,2\n"]
)
def test_quoting_of_csv_that_nobody_can_read(tmp_path: Path, content: str) -> None:
    assert [found.id for found in built(tmp_path, "rows.csv", content.encode(), SHUFFLE).diagnostics] == ["ORB412"]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    assert built(tmp_path, "rows.jsonl", b"\xef\xbb\xbf" + lines(GOOD), SHUFFLE).train_rows == 3000


@pytest.mark.parametrize("bad", [b'{"question": "a\0b", "answer": 1}', b"\0" * 64], ids=["in a text", "a hole"])
def test_nul_bytes(tmp_path: Path, bad: bytes) -> None:
    content = lines(GOOD[:2]) + bad + b"\n" + lines(GOOD[2:])
    (found,) = built(tmp_path, "rows.jsonl", content, SHUFFLE).diagnostics
    assert (found.id, found.place and found.place.line, found.note) == ("ORB412", 3, "the line holds a NUL byte")


def test_encodings_that_are_mixed(tmp_path: Path) -> None:
    content = lines(GOOD[:5]) + '{"question": "café", "answer": 1}\n'.encode("latin-1") + lines(GOOD[5:])
    (found,) = built(tmp_path, "rows.jsonl", content, SHUFFLE).diagnostics
    assert (found.id, found.place and found.place.line, found.note) == ("ORB412", 6, "byte 0xe9")
    whole = "question,answer\nñ,1\n".encode("utf-16")
    assert [found.id for found in built(tmp_path, "rows.csv", whole).diagnostics] == ["ORB412"]


def test_a_line_of_fifty_megabytes(tmp_path: Path) -> None:
    long = b'{"question": "' + b"a" * 50_000_000 + b'", "answer": 1}\n'
    (found,) = built(tmp_path, "rows.jsonl", lines(GOOD[:9]) + long + lines(GOOD[9:]), SHUFFLE).diagnostics
    assert (found.id, found.place and found.place.line) == ("ORB412", 10)
    assert "longer than 32 MB" in found.message


@pytest.mark.parametrize("text", ["{% for i in range(10**9) %}x{% endfor %}", "{{ 'x' * 10**9 }}"])
def test_a_template_that_does_not_end(tmp_path: Path, text: str) -> None:
    began = time.monotonic()
    result = built(tmp_path, "rows.jsonl", lines(GOOD), SHUFFLE, prompt=TemplateRequest(text))
    assert [found.id for found in result.diagnostics] == ["ORB415"]
    assert time.monotonic() - began < 10


def test_a_filter_that_reaches_for_what_it_must_not(tmp_path: Path) -> None:
    step = StepRequest("filter", {"expression": "question.__class__.__base__.__subclasses__()"})
    result = built(tmp_path, "rows.jsonl", lines(GOOD), step)
    assert [found.id for found in result.diagnostics] == ["ORB440"]


@pytest.mark.timeout(300)
def test_a_broken_line_in_the_middle_of_a_gigabyte(tmp_path: Path) -> None:
    """A gigabyte of few, long lines, which are quick to write: the line is named, and memory stays far below it.

    The peak is the program's own (VmHWM): `ru_maxrss` begins with that of the process which started it.
    """
    path = tmp_path / "rows.jsonl"
    line = json.dumps({"question": "q" * 4_000_000, "answer": 1}).encode() + b"\n"
    with path.open("wb") as stream:
        for number in range(256):
            stream.write(line if number != 128 else b'{"question": "cut\n')
    script = (
        "import re, sys\nfrom pathlib import Path\n"
        "from orbiter_spec.data.build import build\n"
        "from orbiter_spec.data.request import DatasetRequest, SourceRequest, StepRequest\n"
        "steps = (StepRequest('filter', {'expression': 'len(question) < 5'}),)\n"
        "request = DatasetRequest((SourceRequest(Path(sys.argv[1])),), pipeline=steps)\n"
        "result = build(request, Path(sys.argv[2]))\n"
        "(found,) = result.diagnostics\n"
        "peak_kib = re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1]\n"
        "print(found.id, found.place.line, int(peak_kib) // 1024)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), str(tmp_path / "out")], capture_output=True, text=True, check=True
    )
    id, number, peak_mib = done.stdout.split()
    assert (id, number) == ("ORB412", "129")
    assert int(peak_mib) < 400
    assert check(DatasetRequest((SourceRequest(path),))).train_rows > 0


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    spec = (
        "version: 1\nname: full\nagent: {model: builtin:tiny-llama}\n"
        "dataset: {train: rows.jsonl, pipeline: [{shuffle: 1}]}\nrewards: [{builtin: exact_match}]\n"
        "algorithm: {name: grpo, batch: {prompts: 4, samples_per_prompt: 4}}\nhardware: cpu\n"
    )
    noise = [{"question": os.urandom(200).hex(), "answer": index} for index in range(3000)]
    (tmp_path / "rows.jsonl").write_bytes(lines(noise))
    (tmp_path / "spec.yaml").write_text(spec, encoding="utf-8")
    script = (
        "import signal, sys\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nfrom orbiter_spec.cli import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "compile", "spec.yaml", "-o", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=limited,
    )
    assert done.returncode == 1
    assert "ORB443" in done.stdout + done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
