"""Where a row keeps its input and its expected answer, for steps that read or write them.

The columns that the spec names count; otherwise the usual names, row by row, as for the rows that are built.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orbiter_spec.data.columns import ABSENT, USUAL_NAMES, look_up
from orbiter_spec.data.pipeline import StepError, row_name
from orbiter_spec.data.read import Row
from orbiter_spec.data.request import Columns


def name_of(role: str, fields: Mapping[str, Any], columns: Columns) -> str | None:
    """The column that carries `role` (`input`, `expected`, `chat`) in this row, or None."""
    named: str | None = getattr(columns, role)
    if named is not None:
        return named if look_up(fields, named) is not ABSENT else None
    return next((name for name in USUAL_NAMES.get(role, ()) if look_up(fields, name) is not ABSENT), None)


def need(role: str, row: Row, columns: Columns, step: str) -> str:
    """The column that carries `role`. Raises `StepError` when the row has none."""
    name = name_of(role, row.fields, columns)
    if name is None:
        listed = ", ".join(list(row.fields)[:12]) or "no columns"
        raise StepError(
            f"{step} finds no {role} column, in {row_name(row)}",
            note=f"the row has {listed}",
            help=f"name it: dataset.columns.{role}",
        )
    return name
