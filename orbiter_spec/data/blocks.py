"""Rows that are not looked at yet: lines of a file as they were read, or batches as another process packed them.

Most rows pass through the process that keeps their order without being looked at there: it reads blocks of lines,
counts them, and hands them on. Both kinds are sequences of rows, so whoever needs the rows sees them; `select` takes
some of them without looking. Blocks are cut by the content of the file alone.
"""

from __future__ import annotations

import math
import pickle
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any, BinaryIO, overload

from orbiter_spec.data.jsonl import BOM, FAST, LINE_BYTES
from orbiter_spec.data.opening import BROKEN, open_bytes, suffix_of
from orbiter_spec.data.problems import Problems
from orbiter_spec.data.read import Row, check_file, read_rows, starts_with_bracket
from orbiter_spec.data.request import SourceRequest

BLOCK_BYTES, BLOCK_ROWS = 384 * 1024, 1024
"""A block ends at whichever comes first, or after its first line."""
_BLANK_LINE = re.compile(rb"\n[ \t\r\x0b\x0c]*\n")


class NotPlainError(Exception):
    """Something about the rows that the quick way does not handle; the careful way says what it is."""


class Lazy(Sequence[Row]):
    """Rows that are made when somebody asks for one, and then kept."""

    _made: list[Row] | None = None

    @abstractmethod
    def _make(self) -> list[Row]: ...

    @property
    def rows(self) -> list[Row]:
        """All rows. Raises `NotPlainError`."""
        if self._made is None:
            self._made = self._make()
        return self._made

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        return self.rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)


class Lines(Lazy):
    """Whole lines of JSON, none of them blank: a row each."""

    def __init__(self, source: SourceRequest, data: bytes, size: int, first_row: int) -> None:
        self.source, self.data, self.size, self.first_row = source, data, size, first_row

    def __len__(self) -> int:
        return self.size

    def __reduce__(self) -> tuple[Any, ...]:
        return Lines, (self.source, self.data, self.size, self.first_row)

    def first(self, count: int) -> Lines:
        """The first of the lines."""
        kept = self.data.split(b"\n", count)[:count]
        return Lines(self.source, b"\n".join([*kept, b""]), len(kept), self.first_row)

    def _make(self) -> list[Row]:
        try:
            found = list(map(FAST.decode, self.data.split(b"\n")[:-1]))
        except (ValueError, RecursionError) as error:
            raise NotPlainError(str(error)) from None
        if not all(type(fields) is dict for fields in found):
            raise NotPlainError("a line is no object")
        source = self.source
        return [Row(source, number, fields) for number, fields in enumerate(found, start=self.first_row)]


class Packed(Lazy):
    """Rows as they came from another process, with their marks beside them; `chosen` are those that are meant."""

    def __init__(self, payload: bytes, count: int, marks: bytes = b"", chosen: Sequence[int] | None = None) -> None:
        self._payload, self._count, self._marks, self._chosen = payload, count, marks, chosen

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Packed:
        """Rows, packed. Marks, where there are any, have one size."""
        columns = [
            [row.source for row in rows],
            [row.number for row in rows],
            [row.fields for row in rows],
            [row.copy for row in rows],
            [row.line for row in rows] if any(row.line is not None for row in rows) else None,
        ]
        marks = b"".join(row.mark for row in rows)
        return cls(pickle.dumps(columns, protocol=pickle.HIGHEST_PROTOCOL), len(rows), marks)

    def __len__(self) -> int:
        return self._count if self._chosen is None else len(self._chosen)

    def __reduce__(self) -> tuple[Any, ...]:
        return Packed, (self._payload, self._count, self._marks, self._chosen)

    def _make(self) -> list[Row]:
        sources, numbers, fields, copies, lines = pickle.loads(self._payload)
        made = [
            Row(source, number, values, None if lines is None else lines[place], copy, self._mark(place))
            for place, (source, number, values, copy) in enumerate(zip(sources, numbers, fields, copies, strict=True))
        ]
        return made if self._chosen is None else [made[place] for place in self._chosen]

    def _mark(self, place: int) -> bytes:
        size = len(self._marks) // self._count if self._count else 0
        return self._marks[place * size : (place + 1) * size]

    @property
    def marks(self) -> list[bytes]:
        """The mark of each row."""
        return [self._mark(place) for place in (range(self._count) if self._chosen is None else self._chosen)]

    def unmarked(self) -> Packed:
        """The same rows without their marks."""
        return Packed(self._payload, self._count, b"", self._chosen)

    def select(self, places: list[int]) -> Packed:
        """Some of the rows, by their places among those that are meant."""
        chosen = places if self._chosen is None else [self._chosen[place] for place in places]
        return Packed(self._payload, self._count, self._marks, chosen)


def marks_of(batch: Sequence[Row]) -> list[bytes]:
    """The mark of each row."""
    return batch.marks if isinstance(batch, Packed) else [row.mark for row in batch]


def unmarked(batch: Sequence[Row]) -> Sequence[Row]:
    """The same rows without their marks."""
    if isinstance(batch, Packed):
        return batch.unmarked()
    for row in batch:
        row.mark = b""
    return batch


def select(batch: Sequence[Row], kept: Sequence[bool]) -> Sequence[Row]:
    """The rows that are kept; the batch itself where all are."""
    if all(kept):
        return batch
    if isinstance(batch, Packed):
        return batch.select(list(compress(range(len(batch)), kept)))
    return list(compress(batch, kept))


def first(batch: Sequence[Row], count: int) -> Sequence[Row]:
    """The first rows of a batch."""
    if len(batch) <= count:
        return batch
    if isinstance(batch, Lines):
        return batch.first(count)
    return select(batch, [place < count for place in range(len(batch))])


def is_lines(source: SourceRequest) -> bool:
    """Whether the source is text with a JSON object on each line, as far as its name and beginning tell."""
    suffix = suffix_of(source.path)
    if source.run is not None or source.hub is not None or suffix not in (".jsonl", ".ndjson", ".json"):
        return False
    if suffix != ".json":
        return True
    with open_bytes(source.path) as stream:
        return not starts_with_bracket(stream)


def read_blocks(source: SourceRequest) -> Iterator[Sequence[Row]]:
    """The rows of a source up to its limit, in blocks. Raises `NotPlainError` for whatever is wrong with the file."""
    from orbiter_spec.data.pipeline import in_batches

    problems = Problems()
    if not check_file(source, problems):
        raise NotPlainError("no file")
    try:
        if is_lines(source):
            with open_bytes(source.path) as stream:
                yield from _limited(_blocks(source, stream), source.limit)
            return
        yield from in_batches(read_rows(source, problems))
    except BROKEN as error:
        raise NotPlainError(str(error)) from None
    if problems.any:
        raise NotPlainError("the file has a problem")


def _limited(blocks: Iterator[Lines], limit: int | None) -> Iterator[Lines]:
    for block in blocks:
        left = math.inf if limit is None else limit - block.first_row + 1
        yield block if left >= block.size else block.first(int(left))
        if left <= block.size:
            return


def _blocks(source: SourceRequest, stream: BinaryIO) -> Iterator[Lines]:
    row, rest = 1, b""
    while data := stream.read(BLOCK_BYTES):
        data = rest + data if row > 1 or rest else data.removeprefix(BOM)
        end = data.rfind(b"\n") + 1
        rest = data[end:]
        if len(data) > LINE_BYTES:
            raise NotPlainError("a long line")
        for block in _cut(source, data[:end], row):
            yield block
            row += block.size
    if rest.strip():
        yield from _cut(source, rest + b"\n", row)


def _cut(source: SourceRequest, data: bytes, row: int) -> Iterator[Lines]:
    """Whole lines in blocks of at most `BLOCK_ROWS`; those that are blank are left out, they are no rows."""
    if data[:1].isspace() or _BLANK_LINE.search(data):
        data = b"".join(line + b"\n" for line in data.split(b"\n") if line.strip())
    count = data.count(b"\n")
    if count <= BLOCK_ROWS:
        yield from [Lines(source, data, count, row)] if count else []
        return
    lines = data.split(b"\n")
    for start in range(0, count, BLOCK_ROWS):
        part = lines[start : min(start + BLOCK_ROWS, count)]
        yield Lines(source, b"\n".join([*part, b""]), len(part), row + start)
