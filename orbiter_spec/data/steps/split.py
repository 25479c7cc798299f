"""`split`: set rows aside for validation here, so that later steps change the training rows only.

Without `by` the rounded share of rows with the smallest hash of their position is set aside, as for
`validation.fraction`. With `by` it is the share of the different values, by the hash of the value itself: rows that
belong together, such as questions about one text, stay on one side whatever their number and order.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from dataclasses import dataclass

from orbiter_spec.data.columns import ABSENT, look_up
from orbiter_spec.data.draw import Chosen
from orbiter_spec.data.pipeline import Batch, Context, Rows, StepError, draw, row_name
from orbiter_spec.data.read import Row
from orbiter_spec.data.request import StepReport, StepRequest
from orbiter_spec.data.split import validation_count
from orbiter_spec.data.spool import Spool, spooled

REASON = "set aside for validation"


def make(request: StepRequest, context: Context) -> Split:
    """The step; `seed` defaults to the dataset's."""
    settings = request.settings
    return Split(settings["fraction"], settings.get("by"), int(settings.get("seed", context.seed)), context)


@dataclass
class Split:
    """Keeps training rows; the others go to `context.aside`, in their order."""

    fraction: float
    by: str | None
    seed: int
    context: Context

    def stream(self, batches: Iterator[Rows], report: StepReport) -> Iterator[Rows]:
        """The rows that stay."""
        aside = Spool(self.context.scratch)
        self.context.aside.append(aside)
        with spooled(batches, self.context.scratch) as spool:
            chosen = self._positions(spool) if self.by is None else self._groups(spool)
            position = 0
            for batch in spool:
                kept: Batch = []
                moved: Batch = []
                for row in batch:
                    (moved if (position if self.by is None else self._key(row)) in chosen else kept).append(row)
                    position += 1
                for row in moved:
                    report.drop(REASON, row_name(row))
                aside.add(moved)
                yield kept

    def _positions(self, spool: Spool) -> Container[int]:
        return Chosen(spool.rows, validation_count(spool.rows, self.fraction, None), self.seed)

    def _groups(self, spool: Spool) -> Container[int]:
        keys = {self._key(row) for batch in spool for row in batch}
        ordered = sorted(keys)
        return frozenset(ordered[: validation_count(len(ordered), self.fraction, None)])

    def _key(self, row: Row) -> int:
        value = look_up(row.fields, self.by or "")
        if value is ABSENT:
            raise StepError(f"split: row has no {self.by}", note=row_name(row), help="name a column that every row has")
        return draw(self.seed, json.dumps(value, sort_keys=True, default=str))
