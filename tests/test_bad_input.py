"""Bad input: one clear error with a place, the documented exit code, no traceback, and no file changed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import MINIMAL


def tree(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() and os.access(path, os.R_OK) else None
        for path in folder.rglob("*")
    }


def edited(old: str, new: str) -> Callable[[Path], None]:
    def edit(spec: Path) -> None:
        assert old in MINIMAL
        spec.write_text(MINIMAL.replace(old, new), encoding="utf-8")

    return edit


def content(data: bytes) -> Callable[[Path], None]:
    return lambda spec: spec.write_bytes(data) and None


def beside(name: str, data: bytes) -> Callable[[Path], None]:
    return lambda spec: (spec.parent / name).write_bytes(data) and None


def folder_instead(spec: Path) -> None:
    spec.unlink()
    spec.mkdir()


def cycle(spec: Path) -> None:
    spec.write_text(MINIMAL + "extends: other.yaml\n", encoding="utf-8")
    (spec.parent / "other.yaml").write_text("extends: spec.yaml\n", encoding="utf-8")


def truncated_parquet(spec: Path) -> None:
    (spec.parent / "rows.parquet").write_bytes(b"PAR1" + b"\x00" * 40)
    spec.write_text(MINIMAL.replace("rows.jsonl", "rows.parquet"), encoding="utf-8")


BOMB = b"a: &a [x, x, x, x, x, x, x, x, x]\n" + b"".join(
    f"{chr(98 + level)}: &{chr(98 + level)} [{', '.join(['*' + chr(97 + level)] * 9)}]\n".encode() for level in range(8)
)

CASES: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty file": (content(b""), "ORB009"),
    "only comments": (content(b"# nothing\n"), "ORB009"),
    "binary file": (content(bytes(range(256)) * 10), "ORB003"),
    "not utf-8": (content("name: caf\xe9\n".encode("latin-1")), "ORB003"),
    "a folder": (folder_instead, "ORB002"),
    "missing file": (lambda spec: spec.unlink(), "ORB001"),
    "20 MB of yaml": (content(b"key: value\n" * 2_000_000), "ORB004"),
    "alias bomb": (content(BOMB), "ORB007"),
    "cycle of extends": (cycle, "ORB010"),
    "extends of nothing": (edited("version: 1", "version: 1\nextends: nowhere.yaml"), "ORB010"),
    "duplicate key": (edited("name: small", "name: small\nname: again"), "ORB006"),
    "tab indentation": (edited("agent: {", "agent:\n\tmodel: x\nother: {"), "ORB005"),
    "python object": (edited("name: small", "name: !!python/object:os.system small"), "ORB008"),
    "unknown key deep inside": (edited("algorithm: grpo", "algorithm: {name: grpo, batch: {promts: 8}}"), "ORB020"),
    "list where a mapping belongs": (edited("algorithm: grpo", "algorithm: [grpo]"), "ORB021"),
    "string where a number belongs": (
        edited("algorithm: grpo", 'algorithm: {name: grpo, learning_rate: "1e-6"}'),
        "ORB021",
    ),
    "nan": (edited("algorithm: grpo", "algorithm: {name: grpo, learning_rate: .nan}"), "ORB024"),
    "infinite": (edited("algorithm: grpo", "algorithm: {name: grpo, learning_rate: .inf}"), "ORB024"),
    "unknown algorithm": (edited("algorithm: grpo", "algorithm: grop"), "ORB023"),
    "missing field": (edited("name: small\n", ""), "ORB022"),
    "missing reward file": (edited("rewards.py:score", "rewrads.py:score"), "ORB401"),
    "reward not in the file": (edited("rewards.py:score", "rewards.py:scores"), "ORB402"),
    "no such column": (
        edited("dataset: {train: rows.jsonl}", "dataset: {train: rows.jsonl, columns: {expected: anwser}}"),
        "ORB411",
    ),
    "missing rows": (edited("rows.jsonl", "raws.jsonl"), "ORB410"),
    "broken jsonl line": (beside("rows.jsonl", b'{"question": "a", "answer": "b"}\n{"question": \n'), "ORB412"),
    "empty dataset": (beside("rows.jsonl", b""), "ORB413"),
    "truncated parquet": (truncated_parquet, "ORB414"),
    "unknown prompt field": (edited("{{ question }}", "{{ qestion }}"), "ORB415"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_one_clear_error(case: str, project: Path, cli) -> None:
    spoil, expected = CASES[case]
    spoil(project)
    before = tree(project.parent)
    started = time.monotonic()
    done = cli("validate", project, "--format", "json")
    seconds = time.monotonic() - started
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    errors = [found for found in json.loads(done.stdout)["diagnostics"] if found["severity"] == "error"]
    assert [found["id"] for found in errors] == [expected]
    assert errors[0]["place"]["line"] >= 1
    assert errors[0]["message"]
    assert seconds < 5
    compiled = cli("compile", project, "-o", "out")
    assert compiled.returncode == 1
    assert f"error[{expected}]" in compiled.stderr
    assert tree(project.parent) == before


def test_unwritable_output(project: Path, cli) -> None:
    if os.geteuid() == 0:
        target = Path("/proc/orbiter-output")
    else:
        locked = project.parent / "locked"
        locked.mkdir(mode=0o500)
        target = locked / "out"
    done = cli("compile", project, "-o", target)
    assert done.returncode == 1
    assert "error[ORB501]" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("held", ["status.json", "thesis.docx"])
def test_output_that_holds_something_else_is_left_alone(held: str, project: Path, cli) -> None:
    out = project.parent / "out"
    out.mkdir()
    (out / held).write_text("{}", encoding="utf-8")
    before = tree(project.parent)
    done = cli("compile", project, "-o", out)
    assert done.returncode == 1
    assert "error[ORB502]" in done.stderr
    assert tree(project.parent) == before


def test_every_mistake_is_reported_at_once(project: Path, cli) -> None:
    project.write_text(
        MINIMAL.replace("algorithm: grpo", "algorithm: {name: grpo, lerning_rate: 1, epochs: -1}").replace(
            "hardware: 8xH100", "hardware: {nodes: two, gpus: 8}"
        ),
        encoding="utf-8",
    )
    done = cli("validate", project)
    assert done.returncode == 1
    assert done.stderr.count("error[") == 4, done.stderr
    assert "learning_rate" in done.stderr


def test_usage_errors_exit_two(cli) -> None:
    assert cli("validate").returncode == 2
    done = cli("complie")
    assert done.returncode == 2
    assert "compile" in done.stderr
