"""A build whose rows are made elsewhere: this process reads blocks, keeps their order and writes tables.

Everything that looks at a row happens in the workers: reading JSON, row steps, and the conversion to verl's columns.
What a row is good for is decided there; whatever is wrong with one raises `NotPlainError`, and the careful way, which
looks at every row in order, then says what and where. So no row has to carry its line along for the one that breaks.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Container, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

from orbiter_spec.data.blocks import NotPlainError, first, read_blocks, select
from orbiter_spec.data.building import TRAIN, VALIDATION, Build
from orbiter_spec.data.convert import Converter
from orbiter_spec.data.draw import Chosen
from orbiter_spec.data.pipeline import Rows
from orbiter_spec.data.problems import Problems
from orbiter_spec.data.request import DatasetRequest, SourceRequest
from orbiter_spec.data.split import validation_count
from orbiter_spec.data.spool import spooled
from orbiter_spec.data.workers import Workers
from orbiter_spec.data.write import ParquetSink, packed_table, unpacked_table

Piece = tuple[str, int, Rows]
"""The split, the index of the first row in it, and rows."""


def is_plain(request: DatasetRequest) -> bool:
    """Whether rows can be converted without knowing those before: images decide a column's type, weights its rows."""
    return request.columns.images is None and not any(source.weight is not None for source in request.train)


class ConvertWork:
    """Rows to a table in verl's columns."""

    def __init__(self, request: DatasetRequest) -> None:
        """Raises `NotPlainError`."""
        self._problems = Problems()
        self._converter = Converter(request, self._problems)
        self._check()

    def __call__(self, piece: Piece) -> tuple[str, int, bytes]:
        """The split, the number of rows and the table. Raises `NotPlainError`."""
        split, start, rows = piece
        converted = []
        for index, row in enumerate(rows, start=start):
            if self._converter.usable(row):
                converted.append(self._converter.convert(row, index, split))
        self._check()
        return split, len(converted), packed_table([row for row in converted if row is not None])

    def _check(self) -> None:
        if self._problems.any:
            raise NotPlainError("a row that cannot be converted")


@dataclass
class Bulk(Build):
    """`Build` by blocks."""

    given: Counter[str] = field(default_factory=Counter)

    def _take_all(self) -> None:
        with ExitStack() as stack:
            workers = stack.enter_context(Workers(ConvertWork, (self.request,), self.flow.workers))
            pieces = stack.enter_context(closing(self._pieces()))
            for payload in workers.results(pieces):
                done = pickle.loads(payload)
                if isinstance(done, Exception):
                    raise done
                self._write(*done)

    def _write(self, split: str, rows: int, table: bytes) -> None:
        assert self.out is not None
        if split not in self.sinks:
            self.sinks[split] = ParquetSink(self.out / f"{split}.parquet")
        self.sinks[split].add_table(unpacked_table(table))
        self.rows[split] += rows

    def _pieces(self) -> Generator[Piece, None, None]:
        for batch, split in self._dealt():
            if len(batch):
                yield split, self.given[split], batch
                self.given[split] += len(batch)

    def _dealt(self) -> Iterator[tuple[Rows, str]]:
        yield from self._training()
        for spool in self.flow.context.aside:
            yield from ((batch, VALIDATION) for batch in spool)
        left = self.request.validation_limit
        for batch in self._blocks(VALIDATION, self.request.validation):
            kept = batch if left is None else first(batch, left)
            yield kept, VALIDATION
            left = None if left is None else left - len(kept)
            if left == 0:
                return

    def _training(self) -> Iterator[tuple[Rows, str]]:
        share, limit = self.request.fraction, self.request.validation_limit
        blocks: Iterator[Rows] = self._told(self._blocks(TRAIN, self.request.train))
        if self.request.pipeline:
            blocks = self._told(self.flow.run(blocks, self.request.pipeline))
        if share is None:
            yield from self._parted(blocks, None)
        elif self.request.pipeline:
            with spooled(blocks, self.flow.context.scratch) as spool:
                count = validation_count(spool.rows, share, limit)
                yield from self._parted(spool, Chosen(spool.rows, count, self.request.seed))
        else:
            total = sum(map(len, self._blocks(TRAIN, self.request.train)))
            self.read.clear()
            chosen = Chosen(total, validation_count(total, share, limit), self.request.seed)
            yield from self._parted(blocks, chosen)

    def _parted(self, batches: Iterable[Rows], aside: Container[int] | None) -> Iterator[tuple[Rows, str]]:
        position = 0
        for batch in batches:
            if self.request.held_out is not None:
                away = list(map(self._is_held_out, batch))
            else:
                away = [place in aside for place in range(position, position + len(batch))] if aside else []
            position += len(batch)
            yield (select(batch, [not one for one in away]) if away else batch), TRAIN
            if any(away):
                yield select(batch, away), VALIDATION

    def _blocks(self, split: str, sources: Sequence[SourceRequest]) -> Iterator[Rows]:
        """Rows of all sources in order, as many of each entry of the spec as it asks for."""
        taken: Counter[int] = Counter()
        for source in sources:
            for block in _all_but(source, taken):
                taken[source.group] += len(block)
                self.read[split, source] += len(block)
                yield block


def _all_but(source: SourceRequest, taken: Counter[int]) -> Iterator[Rows]:
    """Blocks of a source until its group has given what it may."""
    if source.group_limit is None:
        yield from read_blocks(source)
        return
    if taken[source.group] < source.group_limit:
        for block in read_blocks(source):
            yield first(block, source.group_limit - taken[source.group])
            if taken[source.group] >= source.group_limit:
                return
