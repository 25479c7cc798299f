"""Functions that the spec names, looked at and never run.

A reference is `path/to/file.py:name` or `package.module:name`. Files are parsed, so a missing name or a syntax error is
found before anything starts, and a check of somebody else's spec runs none of their code. What only running would tell
(a name made by a star import or a decorator) is given the benefit of the doubt.
"""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from orbiter_spec.diagnostics import Diagnostic, Place, Related, nearest
from orbiter_spec.spec.builtin_rewards import CONTEXT_NAMES

SOURCE_BYTES = 4 * 1024 * 1024
PACKAGE_FILES = 500
FORM_HELP = "write path/to/file.py:name or package.module:name"

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function; `required` when it has no default."""

    name: str
    required: bool


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """A function that was found. Exactly one of `path` and `module` is set.

    `parameters` is None when they cannot be known without running the file; `open_ended` when there is a `**kwargs`.
    """

    name: str
    path: Path | None
    module: str | None
    parameters: tuple[Parameter, ...] | None = None
    open_ended: bool = False
    is_async: bool = False
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a reference. `inside` is the place in the file it names, where there is one."""

    id: str
    message: str
    note: str = ""
    help: str = ""
    inside: Place | None = None

    def at(self, place: Place | None) -> Diagnostic:
        """The diagnostic, given where the spec writes the reference."""
        if self.inside is None:
            return Diagnostic(self.id, self.message, place, self.note, self.help)
        related = (Related(place, "named here"),) if place is not None else ()
        return Diagnostic(self.id, self.message, self.inside, self.note, self.help, related=related)


def check_function(ref: str, base: Path) -> tuple[FunctionRef | None, Problem | None]:
    """Find the function that `ref` names; relative paths start at `base`. One of the two results is None."""
    target, _, name = ref.rpartition(":")
    if not target or not name.isidentifier():
        return None, Problem("ORB403", f"{ref!r} is not a reference to a function", help=FORM_HELP)
    if target.endswith(".py") or "/" in target or "\\" in target:
        try:
            return _in_file(target, (base / Path(target).expanduser()).resolve(), name)
        except (OSError, RuntimeError, ValueError) as error:  # a name no file can have, or a user there is not
            return None, Problem("ORB401", f"file {target[:200]!r} cannot be looked up: {error}"[:400])
    return _in_module(target, name, base)


def check_parameters(found: FunctionRef, args: Iterable[str]) -> Problem | None:
    """Whether a reward function can be called: every parameter is filled by a sample or by `args`, and none is left."""
    if found.parameters is None:
        return None
    names = [parameter.name for parameter in found.parameters]
    for name in args:
        if name not in names and not found.open_ended:
            close = nearest(name, names)
            help = f"did you mean {close}?" if close else f"it takes {', '.join(names) or 'nothing'}"
            return Problem("ORB405", f"{found.name} takes no {name!r}", help=help)
    for parameter in found.parameters:
        if parameter.required and parameter.name not in (*CONTEXT_NAMES, *args):
            message = f"nothing fills parameter {parameter.name!r} of {found.name}"
            help = f"give it under args, or use one of {', '.join(CONTEXT_NAMES)}"
            return Problem("ORB407", message, help=help, inside=found.place)
    return None


def sibling_modules(path: Path) -> list[Path]:
    """Python files in the same folder that `path` imports, directly or through one another; sorted, without `path`."""
    return [file for file in code_files(path).values() if file.parent == path.parent and file != path]


def code_files(path: Path) -> dict[str, Path]:
    """What has to be copied for `path` to be imported elsewhere, by name relative to its folder, sorted.

    That is the file itself, and the modules and packages of its folder that it imports, directly or through one
    another; of a package every Python file, up to `PACKAGE_FILES`.
    """
    folder, seen, waiting = path.parent, {path}, [path]
    while waiting:
        for name in _imported(waiting.pop()):
            new = [file for file in _local_files(folder, name) if file not in seen]
            seen.update(new)
            waiting.extend(new)
    return {file.relative_to(folder).as_posix(): file for file in sorted(seen)}


def _local_files(folder: Path, name: str) -> list[Path]:
    """Files of the module or package that `import name` finds in `folder`; a package hides a module."""
    package = folder / name
    if package.is_dir() and (package / "__init__.py").is_file():
        return list(islice(sorted(package.rglob("*.py")), PACKAGE_FILES))
    module = folder / f"{name}.py"
    return [module] if module.is_file() else []


def _imported(path: Path) -> Iterator[str]:
    """First parts of the names of all imports in a file; nothing when it cannot be read."""
    tree = _parse(path, str(path))
    for node in ast.walk(tree) if isinstance(tree, ast.Module) else ():
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module else [alias.name for alias in node.names]
            yield from (name.partition(".")[0] for name in names)


def _in_file(shown: str, path: Path, name: str) -> tuple[FunctionRef | None, Problem | None]:
    if not path.is_file():
        siblings = [item.name for item in path.parent.glob("*.py")] if path.parent.is_dir() else []
        close = nearest(path.name, siblings)
        help = f"did you mean {close}?" if close else "paths are relative to the file that names them"
        what = "is not a file" if path.exists() else "does not exist"
        return None, Problem("ORB401", f"file {shown} {what}", help=help)
    tree = _parse(path, shown)
    if isinstance(tree, Problem):
        return None, tree
    return _find(tree, name, path, None, shown)


def _parse(path: Path, shown: str) -> ast.Module | Problem:
    try:
        if path.stat().st_size > SOURCE_BYTES:
            return Problem("ORB401", f"file {shown} is larger than {SOURCE_BYTES // 1024**2} MB")
        return ast.parse(path.read_bytes(), filename=str(path))
    except SyntaxError as error:
        line = error.lineno or 1
        place = Place(str(path), line, max(error.offset or 1, 1), 1, (error.text or "").rstrip("\r\n"))
        return Problem("ORB401", f"file {shown} is not valid Python", note=error.msg, inside=place)
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        return Problem("ORB401", f"file {shown} cannot be read as Python: {error}")


def _in_module(module: str, name: str, base: Path) -> tuple[FunctionRef | None, Problem | None]:
    if not all(part.isidentifier() for part in module.split(".")):
        return None, Problem("ORB403", f"{module!r} is not the name of a module", help=FORM_HELP)
    spec = _find_module(module.split("."))
    if spec is None:
        local = Path(*module.split(".")).with_suffix(".py")
        near = (base / local).is_file()
        help = (
            f"write {local.as_posix()}:{name}" if near else "install the package, or name a file: path/to/file.py:name"
        )
        return None, Problem("ORB403", f"there is no module {module}", help=help)
    if spec.origin is None or not spec.origin.endswith(".py"):
        return FunctionRef(name, None, module), None
    tree = _parse(Path(spec.origin), module)
    if isinstance(tree, Problem):
        return None, tree
    return _find(tree, name, Path(spec.origin), module, module)


def _find_module(parts: Sequence[str]) -> importlib.machinery.ModuleSpec | None:
    """The module's spec without importing its parents, which would run them."""
    try:
        spec = importlib.util.find_spec(parts[0])
    except (ImportError, ValueError):
        return None
    for depth in range(2, len(parts) + 1):
        if spec is None or spec.submodule_search_locations is None:
            return None
        locations = list(spec.submodule_search_locations)
        spec = importlib.machinery.PathFinder.find_spec(".".join(parts[:depth]), locations)
    return spec


def _find(
    tree: ast.Module, name: str, path: Path, module: str | None, shown: str
) -> tuple[FunctionRef | None, Problem | None]:
    defined = dict(_definitions(tree.body))
    if name not in defined and "*" not in defined:
        close = nearest(name, defined)
        callables = [known for known, node in defined.items() if isinstance(node, Function)]
        there = f"it defines {', '.join(callables[:8])}" if callables else "it defines no function"
        help = f"did you mean {close}?" if close else there
        return None, Problem("ORB402", f"{shown} defines no {name!r}", help=help)
    node = defined.get(name)
    found = FunctionRef(name, None if module else path, module, is_async=isinstance(node, ast.AsyncFunctionDef))
    if not isinstance(node, Function) or getattr(node, "decorator_list", None):
        return found, None
    return _with_parameters(found, node, path), None


def _with_parameters(found: FunctionRef, node: Function, path: Path) -> FunctionRef:
    arguments = node.args
    by_position = [*arguments.posonlyargs, *arguments.args]
    optional = len(by_position) - len(arguments.defaults)
    parameters = [Parameter(item.arg, index < optional) for index, item in enumerate(by_position)]
    for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parameters.append(Parameter(item.arg, default is None))
    line = path.read_text(encoding="utf-8", errors="replace").splitlines()[node.lineno - 1 : node.lineno]
    place = Place(str(path), node.lineno, node.col_offset + 1, len(line[0].strip()) if line else 1, "".join(line))
    return FunctionRef(
        found.name, found.path, found.module, tuple(parameters), arguments.kwarg is not None, found.is_async, place
    )


def _definitions(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.AST]]:
    """Names that a module's top level gives a meaning, with what they stand for; `*` for a star import."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name.partition(".")[0], node) for alias in node.names)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name)]
            yield from ((name, node.value or node) for name in names)
        elif isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
            yield from _definitions(_inner(node))


def _inner(node: ast.If | ast.Try | ast.With | ast.For | ast.While) -> Iterator[ast.stmt]:
    for block in ("body", "orelse", "finalbody"):
        yield from getattr(node, block, [])
    for handler in getattr(node, "handlers", []):
        yield from handler.body
