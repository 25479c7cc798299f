"""Rows on disk: a `Spool` gives them back in order, `Buckets` in the order of a key.

Files hold pickled batches: rows may have any type that a format knows, and these files are written and read by one
build in a folder of its own, never by anyone else. Each batch ends where the stream did, so memory stays bounded.
"""

from __future__ import annotations

import pickle
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from orbiter_spec.data.read import Row

BUCKETS = 256
BUFFER_ROWS = 65_536


class Spool:
    """A file of batches. Use `add`, then iterate, as often as needed."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="spool-", dir=folder))
        self._path = self._folder / "rows"
        self._stream: BinaryIO | None = self._path.open("wb")
        self.rows = 0

    def add(self, batch: Sequence[Row]) -> None:
        """Take a batch. Raises OSError when the disk is full."""
        assert self._stream is not None, "a spool that has been read takes no more rows"
        pickle.dump(batch, self._stream, protocol=pickle.HIGHEST_PROTOCOL)
        self.rows += len(batch)

    def __iter__(self) -> Iterator[Sequence[Row]]:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        return iter(_batches(self._path))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave nothing on disk."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        shutil.rmtree(self._folder, ignore_errors=True)


class Buckets:
    """Rows by a key of 64 bits, sorted without being in memory all at once."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="buckets-", dir=folder))
        self._buffers: list[list[tuple[int, Row]]] = [[] for _ in range(BUCKETS)]
        self._held = 0

    def add(self, key: int, row: Row) -> None:
        """Take a row; keys are from 0 to 2**64 - 1, and equal ones keep the order they came in."""
        self._buffers[key >> 56].append((key, row))
        self._held += 1
        if self._held >= BUFFER_ROWS:
            self._flush()

    def sorted(self) -> Iterator[list[Row]]:
        """Every row by its key, a bucket at a time."""
        for index, buffer in enumerate(self._buffers):
            path = self._path(index)
            if path.exists():
                buffer = [pair for part in _batches(path) for pair in part] + buffer
                path.unlink()
            if buffer:
                yield [row for _, row in sorted(buffer, key=itemgetter(0))]
            self._buffers[index] = []

    def _flush(self) -> None:
        for index, buffer in enumerate(self._buffers):
            if buffer:
                with self._path(index).open("ab") as stream:
                    pickle.dump(buffer, stream, protocol=pickle.HIGHEST_PROTOCOL)
                self._buffers[index] = []
        self._held = 0

    def _path(self, index: int) -> Path:
        return self._folder / f"{index:03}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def spooled(batches: Iterable[Sequence[Row]], folder: Path | None) -> Spool:
    """All batches in a spool of their own."""
    spool = Spool(folder)
    try:
        for batch in batches:
            spool.add(batch)
    except BaseException:
        spool.close()
        raise
    return spool


def _batches(path: Path) -> Iterator[list[Any]]:
    with path.open("rb") as stream:
        while stream.peek(1):
            yield pickle.load(stream)
