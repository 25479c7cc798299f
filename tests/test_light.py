"""The edges stay light: what a command loads is looked at in a fresh interpreter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.report.generate import make_run

HEAVY = ["torch", "ray", "verl", "hydra", "omegaconf", "pandas", "transformers", "matplotlib", "numpy"]
LOADED = "import sys, json; print(json.dumps([name for name in {heavy!r} if name in sys.modules]))"


def loaded_after(code: str, cwd: Path) -> list[str]:
    script = f"{code}\n{LOADED.format(heavy=HEAVY)}"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=cwd, capture_output=True, text=True, timeout=60, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def command(*args: str) -> str:
    return (
        "from orbiter_spec.cli import main\n"
        f"try:\n    main({list(args)!r}, prog_name='orbiter-spec')\n"
        "except SystemExit as end:\n    assert not end.code, end"
    )


def test_importing_the_package_loads_nothing_heavy(tmp_path: Path) -> None:
    assert loaded_after("import orbiter_spec", tmp_path) == []


@pytest.mark.parametrize("args", [("--help",), ("schema",), ("validate", "--help")])
def test_help_and_schema_load_nothing_heavy(args: tuple[str, ...], tmp_path: Path) -> None:
    assert loaded_after(command(*args), tmp_path) == []


@pytest.mark.parametrize("args", [("runs",), ("report", "--help"), ("evaluate", "--help"), ("export", "--help")])
def test_looking_at_runs_loads_nothing_heavy(args: tuple[str, ...], tmp_path: Path) -> None:
    assert loaded_after(command(*args), tmp_path) == []


def test_the_doctor_and_the_page_of_a_run_load_nothing_heavy(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", steps=3)
    code = (
        "from pathlib import Path\n"
        "from orbiter_spec.launch.doctor import examine\nexamine(Path('.'))\n"
        "from orbiter_spec.report.page import write_page\nfrom orbiter_spec.report.run_view import read_runs\n"
        f"write_page(Path('page.html'), read_runs([Path({str(run)!r})])[0])"
    )
    assert loaded_after(code, tmp_path) == []


def test_validate_and_compile_load_nothing_heavy(project: Path) -> None:
    assert loaded_after(command("validate", str(project)), project.parent) == []
    assert set(loaded_after(command("compile", str(project), "-o", "out"), project.parent)) <= {"numpy"}


def test_a_section_that_a_spec_does_not_have_is_never_made(project: Path) -> None:
    code = command("validate", str(project)) + (
        "\nfrom orbiter_spec.spec.agent import Model\nfrom orbiter_spec.spec.algorithm import CriticModel\n"
        "assert Model.__pydantic_complete__ and not CriticModel.__pydantic_complete__"
    )
    loaded_after(code, project.parent)
