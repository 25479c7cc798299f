"""`filter`: keep the rows for which an expression is true."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from orbiter_spec.data.expression import Expression, ExpressionError
from orbiter_spec.data.pipeline import Batch, Context, StepError, row_name
from orbiter_spec.data.request import StepReport, StepRequest


def make(request: StepRequest, context: Context) -> Filter:
    """The step. Raises `StepError` when the expression cannot be used."""
    try:
        return Filter(Expression(request.settings["expression"]))
    except ExpressionError as error:
        raise StepError(f"filter: {error}", id="ORB440", help=error.help) from None


@dataclass
class Filter:
    """One expression over the fields."""

    expression: Expression

    def apply(self, rows: Batch, report: StepReport) -> Batch:
        """Rows for which the expression is true."""
        kept, evaluate, reason = [], self.expression.evaluate, f"not {self.expression.text}"
        for row in rows:
            try:
                good = evaluate(row.fields)
            except ExpressionError as error:
                raise StepError(f"filter fails on {row_name(row)}: {error}", help=error.help) from None
            if good:
                kept.append(row)
            else:
                report.drop(reason, partial(row_name, row))
        return kept
