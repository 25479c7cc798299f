"""Which columns of a file carry meaning: the ones that the spec names, else the ones with a usual name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from orbiter_spec.data.problems import Problems
from orbiter_spec.data.read import Row
from orbiter_spec.data.request import Columns
from orbiter_spec.diagnostics import nearest

USUAL_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "input": ("question", "input", "prompt", "problem"),
    "expected": ("answer", "expected", "target", "ground_truth", "reward_model.ground_truth"),
    "source": ("data_source",),
}

ABSENT: Final = object()
"""What `look_up` gives for a column that a row does not have."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """Column names of one file; None where there is no such column. `named` are the ones that the spec names."""

    input: str | None
    expected: str | None
    chat: str | None
    source: str | None
    images: str | None
    named: frozenset[str]


def resolve_columns(
    columns: Columns, first: Row, problems: Problems, *, needs_input: bool, needs_expected: bool
) -> Resolved | None:
    """Columns by the first row of a file. None, with a problem added, when one that is needed is not there."""
    found: dict[str, str | None] = {}
    named: set[str] = set()
    good = True
    for role in ("input", "expected", "chat", "source", "images"):
        name = getattr(columns, role)
        if name is not None:
            named.add(role)
            good = _check_named(columns, role, name, first, problems) and good
        found[role] = name if name is not None else _usual(role, first.fields)
    if good and needs_input and found["input"] is None and found["chat"] is None:
        good = _report_none(first, "input", "holds the question", problems)
    if good and needs_expected and found["expected"] is None:
        good = _report_none(first, "expected", "holds the expected answer", problems)
    return Resolved(**found, named=frozenset(named)) if good else None


def usual_source(columns: Columns, row: Row) -> str | None:
    """The column that says which source a row is of."""
    return columns.source or _usual("source", row.fields)


def row_source(row: Row, column: str | None) -> str:
    """The source that a row is of: that of its entry, else what the row says in `column`, else its file's name."""
    if row.source.name:
        return row.source.name
    own = look_up(row.fields, column) if column is not None else None
    return own if isinstance(own, str) and own else row.source.data_source


def source_of(row: Row, columns: Columns) -> str:
    """The same, with the column found."""
    return row_source(row, usual_source(columns, row))


def look_up(fields: Mapping[str, Any], name: str) -> Any:
    """A field by its name, or by a dotted path through mappings; `ABSENT` when there is none."""
    if name in fields:
        return fields[name]
    value: Any = fields
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return ABSENT
        value = value[part]
    return value


def _usual(role: str, fields: Mapping[str, Any]) -> str | None:
    return next((name for name in USUAL_NAMES.get(role, ()) if look_up(fields, name) is not ABSENT), None)


def _check_named(columns: Columns, role: str, name: str, first: Row, problems: Problems) -> bool:
    if look_up(first.fields, name) is not ABSENT:
        return True
    close = nearest(name, first.fields)
    help = f"did you mean {close}?" if close else _columns_help(first)
    message = f"{first.source.label} has no column {name!r}"
    problems.add(first.source, "ORB411", message, place=columns.places.get(role), help=help)
    return False


def _report_none(first: Row, role: str, purpose: str, problems: Problems) -> bool:
    message = f"no column of {first.source.label} is known to be the one that {purpose}"
    problems.add(first.source, "ORB411", message, note=_columns_help(first), help=f"name it: dataset.columns.{role}")
    return False


def _columns_help(first: Row) -> str:
    names = list(first.fields)
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"the file has {', '.join(names[:12])}{more}" if names else "its first row is empty"
