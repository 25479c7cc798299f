"""`function`: the user's own step, called with each row as a dict.

It returns the row (changed or not), a list of rows, or None to drop it. The file is imported only by commands that
build rows. A function that depends on anything beside its row makes the build depend on it too.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orbiter_spec.data.functions import check_function
from orbiter_spec.data.pipeline import Batch, Context, StepError, row_name
from orbiter_spec.data.read import Row
from orbiter_spec.data.request import StepReport, StepRequest


def make(request: StepRequest, context: Context) -> Function:
    """The step. Raises `StepError` when there is no such function; `context.light` looks without importing."""
    reference = request.settings["call"]
    found, problem = check_function(reference, context.folder)
    if problem is not None or found is None:
        assert problem is not None
        raise StepError(f"function: {problem.message}", id=problem.id, note=problem.note, help=problem.help)
    if found.is_async:
        raise StepError(f"function: {found.name} is async", id="ORB440", help="write a plain function")
    args = dict(request.settings.get("args") or {})
    unknown = (
        [] if found.open_ended or found.parameters is None else set(args) - {item.name for item in found.parameters}
    )
    if unknown:
        raise StepError(f"function: {found.name} takes no {sorted(unknown)[0]!r}", id="ORB440")
    function = None if context.light else _load(found.path, found.module, found.name)
    return Function(found.name, function, args)


def _load(path: Path | None, module: str | None, name: str) -> Callable[..., Any]:
    try:
        loaded: Callable[..., Any] = getattr(
            _import(path) if path is not None else importlib.import_module(str(module)), name
        )
        return loaded
    except Exception as error:  # whatever the user's module raises while it is imported
        where = path.name if path is not None else module
        raise StepError(f"function: {where} cannot be imported", id="ORB440", note=_said(error)) from None


def _import(path: Path) -> Any:
    """The module of a file; its neighbours can be imported by their names."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    folder = str(path.parent)
    added = folder not in sys.path
    if added:
        sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        if added:
            sys.path.remove(folder)
    return module


@dataclass
class Function:
    """A function and its keyword arguments; None while rows are only looked at."""

    name: str
    function: Callable[..., Any] | None
    args: dict[str, Any]

    def apply(self, rows: Batch, report: StepReport) -> Batch:
        """The rows that the function returns."""
        assert self.function is not None, "a light look does not run this step"
        out: Batch = []
        for row in rows:
            try:
                returned = self.function(dict(row.fields), **self.args)
            except Exception as error:  # whatever the user's function raises
                raise StepError(f"{self.name} fails on {row_name(row)}", note=_said(error)) from None
            out += self._rows(row, returned, report)
        return out

    def _rows(self, row: Row, returned: Any, report: StepReport) -> Batch:
        if returned is None:
            report.drop(f"{self.name} returned None", row_name(row))
            return []
        several = returned if isinstance(returned, list) else [returned]
        if not all(isinstance(item, Mapping) for item in several):
            kind = type(returned).__name__
            help = "return the row as a dict, a list of them, or None to drop it"
            raise StepError(f"{self.name} returned a {kind} for {row_name(row)}", help=help)
        if not several:
            report.drop(f"{self.name} returned no rows", row_name(row))
        report.added += max(0, len(several) - 1)
        return [
            Row(row.source, row.number, dict(item), row.line, row.copy if position == 0 else row.copy * 1000 + position)
            for position, item in enumerate(several)
        ]


def _said(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
