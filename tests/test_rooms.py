"""Imports point one way, and the table of who knows whom is design.md's."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "orbiter_spec"
KNOWS: dict[str, set[str]] = {
    "diagnostics": set(),
    "explanations": set(),
    "source": {"diagnostics"},
    "spec": {"source", "diagnostics"},
    "plan": {"spec"},
    "rules": {"plan", "spec", "diagnostics"},
    "lower": {"plan", "spec", "diagnostics"},
    "data": {"spec", "source", "diagnostics"},
    "runtime": set(),
    "importing": {"lower", "plan", "spec", "source", "diagnostics"},
    "launch": {"lower", "plan", "diagnostics"},
    "report": {"launch", "lower", "diagnostics"},
    "train": {"api", "data", "runtime", "launch", "diagnostics"},
    "trial": {"assemble", "compilation", "compiler", "runtime", "data", "spec", "source", "diagnostics"},
    "rehearse": {
        "compilation",
        "compiler",
        "runner",
        "trial",
        "launch",
        "runtime",
        "plan",
        "data",
        "spec",
        "diagnostics",
    },
}
HEAVY = {"torch", "ray", "verl", "hydra", "omegaconf", "pandas", "transformers", "matplotlib", "datasets"}


def imports(path: Path) -> set[str]:
    """Every module that `path` imports, wherever in the file, apart from those for type checkers only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = [ast.Pass()]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def top_level_imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("room", sorted(KNOWS))
def test_room_knows_only_its_neighbours(room: str) -> None:
    strangers = {
        f"{path.relative_to(PACKAGE)} imports {module}"
        for path in (PACKAGE / room).rglob("*.py")
        for module in imports(path)
        if module.startswith("orbiter_spec.")
        and len(module.split(".")) > 1
        and module.split(".")[1] not in {room, *KNOWS[room]}
    }
    assert not strangers


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_runtime_imports_heavy_packages_when_loaded(path: Path) -> None:
    if path.relative_to(PACKAGE).parts[0] in ("runtime", "devtools"):
        return
    assert not {module.split(".")[0] for module in top_level_imports(path)} & HEAVY


def test_every_room_is_in_the_table() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert rooms - {"cli", "devtools"} <= set(KNOWS)


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name; a package is its `__init__`."""
    paths = {path.relative_to(PACKAGE.parent).with_suffix(""): path for path in PACKAGE.rglob("*.py")}
    return {".".join(path.parts).removesuffix(".__init__"): file for path, file in paths.items()}


def imported(path: Path, known: set[str]) -> set[str]:
    """The modules among `known` that `path` takes something from, wherever in the file."""
    found = {module for module in imports(path) if module in known}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} & known
    return found


def test_no_module_needs_one_that_needs_it() -> None:
    """A package may re-export what is inside it; nothing else goes in a circle."""
    known = modules()
    graph = {
        name: {other for other in imported(path, set(known)) if not name.startswith(f"{other}.")}
        for name, path in known.items()
        if path.name != "__init__.py"
    }
    TopologicalSorter(graph).prepare()
