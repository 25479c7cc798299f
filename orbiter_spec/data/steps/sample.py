"""`sample`: some of the rows, drawn with a seed, in the order they have.

A share is a share of the number of rows that reach the step, so they wait on disk until all have been counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orbiter_spec.data.draw import Chosen
from orbiter_spec.data.pipeline import Batch, Context, row_name
from orbiter_spec.data.request import StepReport, StepRequest
from orbiter_spec.data.spool import spooled


def make(request: StepRequest, context: Context) -> Sample:
    """The step; `seed` defaults to the dataset's."""
    settings = request.settings
    seed = int(settings.get("seed", context.seed))
    return Sample(settings.get("rows"), settings.get("fraction"), seed, context)


@dataclass
class Sample:
    """Either `rows` or `fraction` is set."""

    rows: int | None
    fraction: float | None
    seed: int
    context: Context

    def stream(self, batches: Iterator[Batch], report: StepReport) -> Iterator[Batch]:
        """The rows that were drawn."""
        with spooled(batches, self.context.scratch) as spool:
            count = self.rows if self.rows is not None else round(spool.rows * (self.fraction or 0.0))
            chosen = Chosen(spool.rows, count, self.seed)
            position = 0
            for batch in spool:
                kept = []
                for row in batch:
                    if position in chosen:
                        kept.append(row)
                    else:
                        report.drop("not drawn", row_name(row))
                    position += 1
                yield kept
