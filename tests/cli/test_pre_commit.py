"""The hook of .pre-commit-hooks.yaml: its files are our specs, and its command ends with the code pre-commit reads."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from orbiter_spec.cli import main
from orbiter_spec.cli.output import FORMATS

ROOT = Path(__file__).resolve().parents[2]
[HOOK] = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


def run(*words: str) -> tuple[int, str]:
    program, *rest = shlex.split(HOOK["entry"])
    assert program == "orbiter-spec"
    result = CliRunner().invoke(main, [*rest, *words])
    return result.exit_code, result.output


def test_the_hook_has_what_pre_commit_asks_for() -> None:
    assert {"id", "name", "entry", "language", "files", "types"} <= set(HOOK)
    assert HOOK["language"] == "python"


def test_its_files_are_specs_and_nothing_else() -> None:
    shipped = [path.relative_to(ROOT).as_posix() for path in (ROOT / "specs").glob("*.yaml")]
    assert shipped
    assert all(re.search(HOOK["files"], name) for name in shipped)
    assert not re.search(HOOK["files"], "specs/rewards/digits.py")
    assert not re.search(HOOK["files"], ".github/workflows/tests.yaml")


def test_good_specs_pass_and_a_bad_one_fails(tmp_path: Path) -> None:
    good = str(ROOT / "specs" / "quickstart.yaml")
    bad = tmp_path / "bad.yaml"
    bad.write_text("version: 1\nname: x\nagent: {model: m}\nalgoritm: grpo\n")
    assert run(good)[0] == 0
    code, said = run(good, str(bad))
    assert code == 1
    assert "algoritm" in said


@pytest.mark.parametrize("style", FORMATS)
def test_every_format_has_the_same_exit_code(style: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("version: 1\nname: x\n")
    assert run("--format", style, str(bad))[0] == 1
    assert run("--format", style, str(ROOT / "specs" / "quickstart.yaml"))[0] == 0
    assert run("--format", "nothing", str(bad))[0] == 2
