"""`shuffle`: rows in an order drawn with a seed, whatever their number.

A row's place is decided by the hash of the seed and its position. Rows are dealt into files by the first byte of it and
each file is sorted by itself, so memory holds one 256th of the data; the bytes do not depend on how the work is cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orbiter_spec.data.pipeline import Context, Rows, draw
from orbiter_spec.data.request import StepReport, StepRequest
from orbiter_spec.data.spool import Buckets


def make(request: StepRequest, context: Context) -> Shuffle:
    """The step; `seed` defaults to the dataset's."""
    return Shuffle(int(request.settings.get("seed", context.seed)), context)


@dataclass
class Shuffle:
    """Deals rows out, then reads them back bucket by bucket."""

    seed: int
    context: Context

    def stream(self, batches: Iterator[Rows], report: StepReport) -> Iterator[Rows]:
        """All rows in their new order."""
        with Buckets(self.context.scratch) as buckets:
            position = 0
            for batch in batches:
                for row in batch:
                    buckets.add(draw(self.seed, position), row)
                    position += 1
            yield from buckets.sorted()
