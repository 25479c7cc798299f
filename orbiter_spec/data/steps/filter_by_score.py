"""`filter_by_score`: keep the rows whose score lies between two bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orbiter_spec.data.columns import ABSENT, look_up
from orbiter_spec.data.pipeline import Batch, Context, StepError, row_name
from orbiter_spec.data.read import Row
from orbiter_spec.data.request import StepReport, StepRequest

USUAL = ("score", "reward")


def make(request: StepRequest, context: Context) -> FilterByScore:
    """The step."""
    settings = request.settings
    return FilterByScore(settings["min"], settings.get("max", float("inf")), settings.get("column"))


@dataclass
class FilterByScore:
    """Bounds, both kept. `column` is None for the usual names."""

    min: float
    max: float
    column: str | None

    def apply(self, rows: Batch, report: StepReport) -> Batch:
        """Rows with a score inside the bounds; a row whose score is null is dropped."""
        kept = []
        for row in rows:
            score = self._score(row)
            if score is None:
                report.drop("no score", row_name(row))
            elif score < self.min or score != score:
                report.drop(f"score below {self.min:g}", row_name(row))
            elif score > self.max:
                report.drop(f"score above {self.max:g}", row_name(row))
            else:
                kept.append(row)
        return kept

    def _score(self, row: Row) -> float | None:
        names = (self.column,) if self.column is not None else USUAL
        value: Any = next((found for name in names if (found := look_up(row.fields, name)) is not ABSENT), ABSENT)
        if value is ABSENT:
            listed = ", ".join(list(row.fields)[:12]) or "no columns"
            raise StepError(
                f"filter_by_score finds no {' or '.join(names)}, in {row_name(row)}",
                note=f"the row has {listed}",
                help="name the column: filter_by_score: {min: ..., column: ...}",
            )
        try:
            return None if value is None else float(value)
        except (TypeError, ValueError):
            raise StepError(f"score is no number, in {row_name(row)}", note=repr(value)[:80]) from None
