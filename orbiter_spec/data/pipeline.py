"""The pipeline: rows in batches through the steps that the spec lists, each of which says what it did.

There are two kinds of step. A `RowStep` looks at rows one at a time and remembers nothing, so it may run in several
processes; what is random in it depends on the row (`row_seed`) and never on who computes it. A `StreamStep` sees all
batches in order: it may remember, reorder and add rows, and keeps what does not fit in memory in `context.scratch`.
Rows are plain dicts, because users' rows have what they like; columns begin where verl's Parquet does.

A step is a module `data/steps/NAME.py` with `make(request, context)`; `STEPS` is the table of contents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from orbiter_spec.data.read import Row
from orbiter_spec.data.request import Columns, DatasetRequest, StepReport, StepRequest
from orbiter_spec.data.spool import Spool

STEPS = (
    "filter",
    "filter_by_score",
    "deduplicate",
    "augment",
    "template",
    "synthesize",
    "function",
    "length",
    "sample",
    "shuffle",
    "split",
)
OPAQUE = frozenset(("function", "length", "synthesize"))
"""Steps that a light look does not run, and so does not see what comes after them."""

BATCH_ROWS = 1024
BATCH_BYTES = 8_000_000
"""A batch ends at whichever comes first; bytes are those of the rows' text and images, roughly."""

Batch = list[Row]
Rows = Sequence[Row]
"""A batch that may not have been looked at yet: `data.blocks` takes rows of it without."""


class StepError(Exception):
    """A step that cannot be used, or a row on which it fails; becomes a diagnostic where the spec writes the step."""

    request: StepRequest | None = None

    def __init__(self, message: str, *, id: str = "ORB441", note: str = "", help: str = "") -> None:
        super().__init__(message)
        self.id = id
        self.note = note
        self.help = help

    def __reduce__(self) -> tuple[Any, ...]:
        return _step_error, (str(self), self.id, self.note, self.help, self.request)


def _step_error(message: str, id: str, note: str, help: str, request: StepRequest | None) -> StepError:
    error = StepError(message, id=id, note=note, help=help)
    error.request = request
    return error


@dataclass(frozen=True)
class Context:
    """What a step may know beside its settings.

    `seed` is the dataset's. `columns` are the names that the spec gives; `steps.meaning` finds the others row by row.
    `folder` is where relative paths of the spec start, `scratch` a folder for what does not fit in memory (None: the
    system's), and `cache` one that outlives the build (None: there is none). `light` is true when rows are only looked
    at: no code of the user's runs, nothing is asked over a network, no tokenizer is loaded. With `offline` rows are
    built, and a teacher's answers are those it has given before. `request` is the whole request, for steps that have to
    know how prompts are made. Rows that a step sets aside for validation go to `aside`.
    """

    seed: int = 0
    columns: Columns = field(default_factory=Columns)
    folder: Path = Path()
    scratch: Path | None = None
    cache: Path | None = None
    light: bool = False
    offline: bool = False
    request: DatasetRequest | None = None
    aside: list[Spool] = field(default_factory=list)


@runtime_checkable
class RowStep(Protocol):
    """A step without memory. Dropped rows are said to `report.drop`, added ones counted in `report.added`."""

    def apply(self, rows: Batch, report: StepReport) -> Batch:
        """The rows that go on, in order. Raises `StepError`."""
        ...


@runtime_checkable
class StreamStep(Protocol):
    """A step that sees every batch in order.

    It may have a method `prepare(rows)` as well, which works something out for each row by itself and leaves it in
    `row.mark`: that part of the work may be done in several processes, before `stream` sees the rows.
    """

    def stream(self, batches: Iterator[Rows], report: StepReport) -> Iterator[Rows]:
        """The batches that go on. Raises `StepError`."""
        ...


def make_step(request: StepRequest, context: Context) -> RowStep | StreamStep:
    """The step that `request` names. Raises `StepError` when its settings cannot be used."""
    module = import_module(f"orbiter_spec.data.steps.{request.name}")
    made: RowStep | StreamStep = module.make(request, context)
    return made


def make_steps(requests: Sequence[StepRequest], context: Context) -> list[RowStep | StreamStep]:
    """All steps in order; a `StepError` says which request it is about."""
    steps = []
    for request in requests:
        with blamed(request):
            steps.append(make_step(request, context))
    return steps


@contextmanager
def blamed(request: StepRequest) -> Iterator[None]:
    """A `StepError` from inside is about `request`, unless a step further up has already said so."""
    try:
        yield
    except StepError as error:
        error.request = error.request or request
        raise


def in_batches(rows: Iterable[Row]) -> Iterator[Batch]:
    """Rows in batches of `BATCH_ROWS`, fewer when they are large; where batches end depends on the rows alone."""
    batch: Batch = []
    weight = 0
    for row in rows:
        batch.append(row)
        weight += _weight(row.fields.values())
        if len(batch) >= BATCH_ROWS or weight >= BATCH_BYTES:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def _weight(values: Iterable[Any]) -> int:
    """Characters and bytes that a row holds, roughly: texts and images are what makes one large."""
    total = 0
    for value in values:
        if isinstance(value, (str, bytes)):
            total += len(value)
        elif isinstance(value, dict):
            total += _weight(value.values())
        elif isinstance(value, list):
            total += _weight(value)
    return total


def row_name(row: Row) -> str:
    """How reports name a row."""
    return f"{row.source.label} row {row.number}"


def row_seed(seed: int, row: Row, purpose: str = "") -> int:
    """A seed of 64 bits for what is random about one row: the same whatever batch it is in and whoever computes it."""
    return draw(seed, f"{purpose}:{row.source.label}:{row.number}:{row.copy}")


def draw(seed: int, key: object) -> int:
    """A number of 64 bits, evenly spread, from a seed and a key, the same with every version of Python."""
    return int.from_bytes(hashlib.blake2b(f"{seed}:{key}".encode(), digest_size=8).digest(), "big")
