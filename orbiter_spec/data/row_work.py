"""A run of row steps as one piece of work: what a process does with a batch, here or elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from orbiter_spec.data.blocks import Packed
from orbiter_spec.data.pipeline import Context, Rows, RowStep, blamed, make_steps
from orbiter_spec.data.request import StepReport, StepRequest

Done = tuple[Packed, list[StepReport]]


class RowWork:
    """Row steps one after the other, and at the end what a stream step works out for each row by itself."""

    def __init__(self, requests: Sequence[StepRequest], context: Context) -> None:
        """Raises `StepError`."""
        self._requests = tuple(requests)
        self._steps = make_steps(requests, context)

    def __call__(self, rows: Rows) -> Done:
        """The rows that go on, and a report for each row step. Raises `StepError` and `NotPlainError`."""
        batch, reports = list(rows), []
        for request, step in zip(self._requests, self._steps, strict=True):
            with blamed(request):
                if isinstance(step, RowStep):
                    report = StepReport(request.name, rows_in=len(batch))
                    batch = step.apply(batch, report)
                    report.rows_out = len(batch)
                    reports.append(report)
                else:
                    step.prepare(batch)  # type: ignore[attr-defined]
        return Packed.of(batch), reports
