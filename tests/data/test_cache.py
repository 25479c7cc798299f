"""Builds that are kept: found again, built anew when anything differs, whole or absent, gone on with when killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.data import cache
from orbiter_spec.data.cache import build_key, cached_build
from orbiter_spec.data.request import DatasetRequest, SourceRequest, StepRequest, TemplateRequest
from orbiter_spec.diagnostics import Place
from tests.data.test_pipeline import PIPELINE, request_of


def items(count: int = 300) -> list[dict[str, Any]]:
    return [{"question": f"What is {n} and {n % 70}?", "answer": n, "score": n % 10 / 10} for n in range(count)]


def built(request: DatasetRequest, folder: Path, **options: Any) -> tuple[list[bytes], Any]:
    result = cached_build(request, folder=folder, **options)
    return [path.read_bytes() for path in result.files], result


def test_a_build_is_found_again_with_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = request_of(tmp_path, items(), *PIPELINE)
    first, made = built(request, tmp_path / "cache")
    monkeypatch.setattr(cache, "build", None)
    second, found = built(request, tmp_path / "cache")
    assert first == second
    assert (made.train_rows, made.validation_rows) == (found.train_rows, found.validation_rows)
    assert [step.as_json() for step in made.steps] == [step.as_json() for step in found.steps]
    assert sorted(path.name for path in made.files) == ["train.parquet", "validation.parquet"]
    assert [path.name for path in (tmp_path / "cache" / "data").iterdir() if path.name.endswith(".work")] == []


def test_whatever_decides_the_bytes_decides_the_name(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text("def same(row):\n    return row\n", encoding="utf-8")
    function = StepRequest("function", {"call": "steps.py:same"})
    request = replace(request_of(tmp_path, items(), function), folder=tmp_path)
    keys = {build_key(request)}
    assert build_key(request) in keys
    assert build_key(replace(request, place=Place("other.yaml", 3), folder=tmp_path)) in keys
    variants = [
        replace(request, seed=1),
        replace(request, fraction=0.1),
        replace(request, prompt=TemplateRequest("Q: {{ question }}")),
        replace(request, pipeline=(function, StepRequest("shuffle"))),
        replace(request, train=(replace(request.train[0], limit=5),)),
    ]
    for variant in variants:
        key = build_key(variant)
        assert key not in keys
        keys.add(key)
    (tmp_path / "steps.py").write_text("def same(row):\n    return {**row}\n", encoding="utf-8")
    key = build_key(request)
    assert key not in keys
    keys.add(key)
    request.train[0].path.write_text('{"question": "other", "answer": 1}\n', encoding="utf-8")
    assert build_key(request) not in keys


def test_a_build_with_findings_is_not_kept(tmp_path: Path) -> None:
    request = request_of(tmp_path, items(), StepRequest("filter", {"expression": "nothing > 1"}))
    result = cached_build(request, folder=tmp_path / "cache")
    assert [found.id for found in result.diagnostics] == ["ORB441"]
    assert [path for path in (tmp_path / "cache" / "data").iterdir() if path.is_dir()] == []


def test_only_the_builds_used_last_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "KEPT", 2)
    for seed in range(4):
        cached_build(request_of(tmp_path, items(30), StepRequest("shuffle"), seed=seed), folder=tmp_path / "cache")
        time.sleep(0.02)
    assert len([path for path in (tmp_path / "cache" / "data").iterdir() if path.is_dir()]) == 2


SLOW = """\
import os, time
def slow(row):
    time.sleep(0.0005)
    with open(os.environ["CALLS"], "a") as calls:
        calls.write("x")
    return row
"""
SCRIPT = """\
import sys
from pathlib import Path
from orbiter_spec.data import checkpoint
from orbiter_spec.data.cache import cached_build
from orbiter_spec.data.request import DatasetRequest, SourceRequest, StepRequest
checkpoint.SEGMENT = 1
folder = Path(sys.argv[1])
steps = (StepRequest("function", {"call": "steps.py:slow"}), StepRequest("shuffle"),)
request = DatasetRequest((SourceRequest(folder / "rows.jsonl", shown="rows.jsonl"),), pipeline=steps, folder=folder)
result = cached_build(request, folder=folder / sys.argv[2])
print(result.train_rows)
"""


def test_a_build_that_was_killed_goes_on_and_gives_the_same_bytes(tmp_path: Path) -> None:
    rows = 5000
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items(rows)), encoding="utf-8")
    (tmp_path / "steps.py").write_text(SLOW, encoding="utf-8")
    calls = tmp_path / "calls"
    environment = {**os.environ, "CALLS": str(calls)}

    def start(cache_name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", SCRIPT, str(tmp_path), cache_name]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    killed = start("cache")
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("cache/data/*.work/steps/0/000001")) and time.monotonic() < deadline:
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    home = tmp_path / "cache" / "data"
    assert [path.name for path in home.iterdir() if path.is_dir() and not path.name.endswith(".work")] == []
    before = calls.stat().st_size
    assert 0 < before < rows
    again = start("cache")
    assert again.communicate()[0].strip() == str(rows)
    assert calls.stat().st_size - before <= rows - 1024
    whole = start("other")
    whole.communicate()
    files = [next((tmp_path / name / "data").glob("*/train.parquet")) for name in ("cache", "other")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert not list(home.glob("*.work"))


def test_a_half_written_checkpoint_is_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    from orbiter_spec.data.checkpoint import SEGMENT, Checkpoint

    first = Checkpoint(tmp_path)
    for number in range(SEGMENT * 2 + 3):
        first.add(b"%d" % number)
    whole = (tmp_path / "000001").read_bytes()
    (tmp_path / "000001").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "000002.part").write_bytes(whole)
    stored = list(Checkpoint(tmp_path).stored())
    assert stored == [b"%d" % number for number in range(SEGMENT)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a limit on file sizes")
def test_a_full_disk_is_an_oserror_and_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items(20_000)), encoding="utf-8")
    script = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        + SCRIPT.replace("checkpoint.SEGMENT = 1\n", "").replace(
            'StepRequest("function", {"call": "steps.py:slow"}), ', ""
        )
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path), "cache"], capture_output=True, text=True)
    assert "OSError: [Errno 27]" in done.stderr.splitlines()[-1]
    home = tmp_path / "cache" / "data"
    assert [path.name for path in home.iterdir() if path.is_dir() and not path.name.endswith(".work")] == []
    script = SCRIPT.replace("checkpoint.SEGMENT = 1\n", "").replace(
        'StepRequest("function", {"call": "steps.py:slow"}), ', ""
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path), "cache"], capture_output=True, text=True)
    assert done.stdout.strip() == "20000"
    assert not list(home.glob("*.work"))


def test_two_processes_build_once(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items(400)), encoding="utf-8")
    (tmp_path / "steps.py").write_text(SLOW, encoding="utf-8")
    environment = {**os.environ, "CALLS": str(tmp_path / "calls")}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), "cache"]
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0].strip() for process in both] == ["400", "400"]
    assert (tmp_path / "calls").stat().st_size == 400


def test_images_are_built_anew(tmp_path: Path) -> None:
    source = SourceRequest(tmp_path / "rows.jsonl")
    source.path.write_text("{}\n", encoding="utf-8")
    request = DatasetRequest((source,), columns=cache.DatasetRequest((source,)).columns)
    assert build_key(request) == build_key(request)
    pictured = replace(request, columns=replace(request.columns, images="image"))
    assert build_key(pictured) != build_key(pictured)
