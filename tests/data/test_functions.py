"""References to functions are checked without running what they name."""

from __future__ import annotations

from pathlib import Path

import pytest

from orbiter_spec.data.functions import check_function, check_parameters, code_files, sibling_modules
from orbiter_spec.diagnostics import Place

SOURCE = '''\
"""Rewards."""
import helpers
from other import thing
raise SystemExit("this file is never run")

def correct(response, expected, *, strict=False):
    return 1.0

async def judge(data_source, solution_str, ground_truth, extra_info=None, **kwargs):
    return 0.5

if True:
    def conditional(row): ...

short = lambda response, size: 1.0

@helpers.cached
def decorated(anything): ...

def odd(completion): ...
'''
SPEC = Place("spec.yaml", 7, 15)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rewards.py").write_text(SOURCE)
    return tmp_path


@pytest.mark.parametrize("name", ["correct", "judge", "conditional", "short", "decorated", "thing"])
def test_names_at_the_top_level_are_found(folder: Path, name: str) -> None:
    found, problem = check_function(f"rewards.py:{name}", folder)
    assert problem is None
    assert found is not None
    assert (found.name, found.path, found.module) == (name, folder / "rewards.py", None)


def test_parameters_are_known_where_they_can_be(folder: Path) -> None:
    judge, _ = check_function("./rewards.py:judge", folder)
    assert judge is not None
    assert judge.is_async
    assert judge.open_ended
    assert [(item.name, item.required) for item in judge.parameters or ()] == [
        ("data_source", True),
        ("solution_str", True),
        ("ground_truth", True),
        ("extra_info", False),
    ]
    decorated, _ = check_function("rewards.py:decorated", folder)
    assert decorated is not None
    assert decorated.parameters is None


@pytest.mark.parametrize(
    ("ref", "id", "message", "help"),
    [
        ("rewards.py", "ORB403", "'rewards.py' is not a reference to a function", "write path/to/file.py:name"),
        ("rewards.py:a b", "ORB403", "'rewards.py:a b' is not a reference", "write path/to/file.py:name"),
        ("reward.py:correct", "ORB401", "file reward.py does not exist", "did you mean rewards.py?"),
        ("sub/rewards.py:correct", "ORB401", "file sub/rewards.py does not exist", "paths are relative"),
        ("rewards.py:corect", "ORB402", "rewards.py defines no 'corect'", "did you mean correct?"),
        ("rewards.py:zzz", "ORB402", "rewards.py defines no 'zzz'", "it defines correct, judge"),
        ("no_such_package.x:y", "ORB403", "there is no module no_such_package.x", "install the package"),
        ("json.nothing:y", "ORB403", "there is no module json.nothing", "install the package"),
        ("rewards:correct", "ORB403", "there is no module rewards", "write rewards.py:correct"),
        ("json:lodas", "ORB402", "json defines no 'lodas'", "did you mean loads?"),
        ("a-b:c", "ORB403", "'a-b' is not the name of a module", "write path/to"),
    ],
)
def test_wrong_references(folder: Path, ref: str, id: str, message: str, help: str) -> None:
    found, problem = check_function(ref, folder)
    assert found is None
    assert problem is not None
    diagnostic = problem.at(SPEC)
    assert (diagnostic.id, diagnostic.place) == (id, SPEC)
    assert diagnostic.message.startswith(message)
    assert diagnostic.help.startswith(help)


def test_modules_are_found_without_importing_them() -> None:
    found, problem = check_function("json.decoder:JSONDecoder", Path())
    assert problem is None
    assert found is not None
    assert (found.module, found.path) == ("json.decoder", None)


def test_a_syntax_error_is_shown_inside_the_file(folder: Path) -> None:
    (folder / "bad.py").write_text("x = 1\ndef f(:\n    pass\n")
    _, problem = check_function("bad.py:f", folder)
    assert problem is not None
    diagnostic = problem.at(SPEC)
    assert diagnostic.id == "ORB401"
    assert diagnostic.place == Place(str(folder / "bad.py"), 2, 7, 1, "def f(:")
    assert diagnostic.related[0].place == SPEC


@pytest.mark.parametrize("content", [b"\0\0", b"\xff\xfe", b"(" * 100_000, b"x=" * 3_000_000], ids=range(4))
def test_files_that_are_no_python_are_named(folder: Path, content: bytes) -> None:
    (folder / "bad.py").write_bytes(content)
    found, problem = check_function("bad.py:f", folder)
    assert found is None
    assert problem is not None
    assert problem.id == "ORB401"


@pytest.mark.parametrize("target", ["a\0b.py", "x" * 5000 + ".py", "~no_such_user/a.py", "/" * 3, "..", "a/" * 3000])
def test_names_that_no_file_can_have(folder: Path, target: str) -> None:
    found, problem = check_function(f"{target}:f", folder)
    assert found is None
    assert problem is not None
    assert problem.id in ("ORB401", "ORB403")


@pytest.mark.parametrize(
    ("name", "args", "id", "message"),
    [
        ("correct", {}, None, ""),
        ("correct", {"strict": True}, None, ""),
        ("correct", {"strcit": True}, "ORB405", "correct takes no 'strcit'"),
        ("judge", {"anything": 1}, None, ""),
        ("decorated", {"x": 1}, None, ""),
        ("short", {"size": 3}, None, ""),
        ("short", {}, "ORB407", "nothing fills parameter 'size' of short"),
        ("odd", {}, "ORB407", "nothing fills parameter 'completion' of odd"),
    ],
)
def test_parameters_that_nothing_fills(
    folder: Path, name: str, args: dict[str, object], id: str | None, message: str
) -> None:
    found, _ = check_function(f"rewards.py:{name}", folder)
    assert found is not None
    problem = check_parameters(found, args)
    assert (problem.id if problem else None) == id
    assert problem is None or problem.message == message


def test_siblings_are_found_through_one_another(folder: Path) -> None:
    (folder / "helpers.py").write_text("from . import deep\nimport rewards\nimport json\n")
    (folder / "deep.py").write_text("import not_there.x\n")
    (folder / "unrelated.py").write_text("")
    assert sibling_modules(folder / "rewards.py") == [folder / "deep.py", folder / "helpers.py"]
    (folder / "helpers.py").write_text("import (")
    assert sibling_modules(folder / "rewards.py") == [folder / "helpers.py"]


def test_packages_beside_a_file_are_taken_whole(folder: Path) -> None:
    package = folder / "helpers"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text("import other\n")
    (package / "deep" / "more.py").write_text("")
    (package / "notes.txt").write_text("")
    (folder / "other.py").write_text("")
    names = ["helpers/__init__.py", "helpers/deep/more.py", "other.py", "rewards.py"]
    assert list(code_files(folder / "rewards.py")) == names
    assert sibling_modules(folder / "rewards.py") == [folder / "other.py"]
