"""The page on adding a release: its commands are real, and what they print is what the shipped releases show."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from orbiter_spec.devtools import differences
from orbiter_spec.devtools.release import report
from orbiter_spec.devtools.releases import FetchError, config_dir
from orbiter_spec.lower.target import TARGET_VERSIONS, load_target
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "adding-a-release.md").read_text(encoding="utf-8")
COMMANDS = [line.strip() for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


def test_every_command_is_a_module_or_pytest_with_folders_that_exist() -> None:
    assert len([command for command in COMMANDS if command]) == 5
    for command in filter(None, COMMANDS):
        words = shlex.split(command)
        if words[0] == "pytest":
            assert all((ROOT / name).is_dir() for name in words[1:])
            continue
        assert words[:2] == ["python", "-m"]
        module = words[2]
        if module != "orbiter_spec.devtools":
            shown = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=True)
            assert all(word in shown.stdout for word in words[3:] if word.startswith("--"))


def test_files_and_names_of_the_page_exist() -> None:
    for name in re.findall(r"`([\w./-]+\.(?:py|toml|txt|sh))`", PAGE):
        assert (ROOT / name).is_file(), name
    for name, file in (
        ("TARGET_VERSIONS", "orbiter_spec/lower/target.py"),
        ("OTHER_DEFAULTS", "orbiter_spec/plan/release.py"),
        ("NEWEST_RELEASE", "orbiter_spec/plan/model.py"),
    ):
        assert name in PAGE
        assert re.search(rf"^{name}\b", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_the_first_command_writes_the_catalogue_and_tells(tmp_path: Path) -> None:
    """As if 0.9.0 were the next release after 0.8.0."""
    release = "0.9.0"
    try:
        config_dir(release)
    except FetchError as problem:
        pytest.skip(str(problem))
    words = shlex.split(COMMANDS[0].replace("VERSION", release).replace("/tmp/catalogue", str(tmp_path)))
    done = subprocess.run(
        [sys.executable, *words[1:], "--against", "0.8.0"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    shipped = ROOT / "orbiter_spec" / "lower" / "targets" / release
    for path in shipped.iterdir():
        assert (tmp_path / release / path.name).read_text(encoding="utf-8") == path.read_text(encoding="utf-8")
    assert "actor_rollout_ref.actor.load_weight" in done.stdout
    assert "| `trainer.use_v1` | all | absent | there |" in done.stdout


def test_a_release_that_does_not_exist() -> None:
    command = [sys.executable, "-m", "orbiter_spec.devtools.release", "0.0.77"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "verl 0.0.77" in done.stderr


def test_differences_are_complete() -> None:
    """Every leaf of one release that the other lacks, or has with another default, is in a row."""
    for old, new in pairwise(TARGET_VERSIONS):
        before, after = load_target(old), load_target(new)
        rows = differences.keys(before, after)
        for engine in set(before.engines) & set(after.engines):
            told = {row.name for row in rows if engine in row.engines}
            for key in set(before.keys(engine)) ^ set(after.keys(engine)):
                if before.has(engine, key) != after.has(engine, key):
                    sections = {f"{key[:at]}.*" for at, letter in enumerate(key) if letter == "."}
                    assert key in told or sections & told, key


def test_the_newest_release_has_a_key_for_every_field() -> None:
    newest = load_target(TARGET_VERSIONS[-1])
    assert differences.orphans(newest) == []
    assert any("0 fields" in line for line in report(load_target(TARGET_VERSIONS[-2]), newest))
