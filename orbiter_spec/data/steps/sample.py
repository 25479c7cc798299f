"""`sample`: some of the rows, drawn with a seed, in the order they have.

A share is a share of the number of rows that reach the step, so they wait on disk until all have been counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orbiter_spec.data.blocks import select
from orbiter_spec.data.draw import Chosen
from orbiter_spec.data.pipeline import Context, Rows, row_name
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

    def stream(self, batches: Iterator[Rows], report: StepReport) -> Iterator[Rows]:
        """The rows that were drawn."""
        with spooled(batches, self.context.scratch) as spool:
            count = self.rows if self.rows is not None else round(spool.rows * (self.fraction or 0.0))
            chosen = Chosen(spool.rows, count, self.seed)
            position = 0
            for batch in spool:
                kept = [place in chosen for place in range(position, position + len(batch))]
                position += len(batch)
                for place, good in enumerate(kept):
                    if not good:
                        report.drop("not drawn", lambda rows=batch, place=place: row_name(rows[place]))  # type: ignore[misc]
                yield select(batch, kept)
