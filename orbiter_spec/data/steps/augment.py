"""`augment`: changed copies of the rows, each after the row it was made from.

What is random about a copy depends on the seed and on the row it was made from, so it is the same wherever it is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from orbiter_spec.data.augment import add_noise
from orbiter_spec.data.columns import look_up
from orbiter_spec.data.pipeline import Batch, Context, StepError, row_name, row_seed
from orbiter_spec.data.read import Row
from orbiter_spec.data.request import Columns, StepReport, StepRequest
from orbiter_spec.data.steps.meaning import need


def make(request: StepRequest, context: Context) -> Augment:
    """The step; noise is drawn with the dataset's seed where the step names none."""
    settings = request.settings
    return Augment(
        float(settings.get("noise", 0.0)),
        bool(settings.get("swap", False)),
        bool(settings.get("keep", True)),
        int(settings.get("seed", context.seed)),
        context.columns,
    )


@dataclass
class Augment:
    """At most two copies of a row: one with noise in its input, one with input and expected answer exchanged."""

    noise: float
    swap: bool
    keep: bool
    seed: int
    columns: Columns

    def apply(self, rows: Batch, report: StepReport) -> Batch:
        """Each row with its copies."""
        out: Batch = []
        for row in rows:
            copies = list(self._copies(row))
            report.added += len(copies)
            if self.keep:
                out.append(row)
            else:
                report.drop("replaced by its copies", row_name(row))
            out += copies
        return out

    def _copies(self, row: Row) -> Iterator[Row]:
        if self.noise:
            name = need("input", row, self.columns, "augment")
            text = look_up(row.fields, name)
            if not isinstance(text, str):
                raise StepError(f"augment: {name} is not text, in {row_name(row)}", help="augment rows before chats")
            noisy = add_noise(text, self.noise, row_seed(self.seed, row, "noise"))
            yield replace(row, fields=put(row.fields, name, noisy), copy=row.copy * 2 + 1)
        if self.swap:
            first = need("input", row, self.columns, "augment")
            second = need("expected", row, self.columns, "augment")
            fields = put(row.fields, first, look_up(row.fields, second))
            yield replace(row, fields=put(fields, second, look_up(row.fields, first)), copy=row.copy * 2 + 2)


def put(fields: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """`fields` with one value replaced, by its name or a dotted path; mappings on the way are copied."""
    if name in fields or "." not in name:
        return {**fields, name: value}
    head, _, rest = name.partition(".")
    return {**fields, head: put(fields[head], rest, value)}
