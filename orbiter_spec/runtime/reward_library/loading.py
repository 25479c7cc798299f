"""Users' files and modules, imported from the compiled folder and kept from hiding anybody else's."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import RewardError

CODE_FOLDER = "code"


def find_function(folder: Path, item: Mapping[str, Any]) -> Callable[..., Any]:
    """The function that an entry of rewards.json names. Raises RewardError, or whatever importing it raises."""
    path, module = item.get("path"), item.get("module")
    code = (folder / path).parent if path else folder / CODE_FOLDER
    _see_code(code)
    _check_neighbours(code, folder, path)
    home = _module_at(folder / path) if path else importlib.import_module(str(module))
    function = getattr(home, item["function"], None)
    if not callable(function):
        raise RewardError(f"there is no function {item['function']!r}")
    return function  # type: ignore[no-any-return]


def _see_code(folder: Path) -> None:
    """Let user's files import their neighbours: after the standard library, before what is installed."""
    if not folder.is_dir() or str(folder) in sys.path:
        return
    installed = [index for index, entry in enumerate(sys.path) if Path(entry).name.endswith("-packages")]
    sys.path.insert(installed[0] if installed else len(sys.path), str(folder))


def _check_neighbours(code: Path, folder: Path, own: str | None) -> None:
    """Python keeps one module of a name: a neighbour must not stand in for the one of another reward's folder."""
    for path in code.glob("*.py"):
        file = getattr(sys.modules.get(path.stem), "__file__", None)
        elsewhere = file and folder in Path(file).parents and Path(file) != path
        if elsewhere and (own is None or path != folder / own):
            raise RewardError(f"two folders of rewards have a {path.name} that is imported; rename one")


def _module_at(path: Path) -> ModuleType:
    """The module in a file, the same one that its neighbours get when they import it."""
    try:
        spec = importlib.util.find_spec(path.stem)
    except ValueError:
        spec = None
    if spec is not None and spec.origin and Path(spec.origin).resolve() == path.resolve():
        return importlib.import_module(path.stem)
    return _execute(f"orbiter_{path.stem}", path)


def _execute(name: str, path: Path) -> ModuleType:
    name = f"{name}_{abs(hash(str(path))):x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RewardError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def need(package: str, module: str, asker: str) -> ModuleType:
    """An optional library. Raises ValueError naming the package that brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        raise ValueError(f"{asker} needs {package}, which is not installed: pip install {package}") from None
