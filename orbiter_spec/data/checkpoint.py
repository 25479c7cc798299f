"""Results of row steps on disk, so that a build that was killed does not do its work again.

Results are kept in files of `SEGMENT` each, which get their names when they are complete; a build that starts again
takes what is there and goes on behind it. That is sound because a build is a function of its inputs: the folder is
named by their hash.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from orbiter_spec.data.worker import LENGTH, receive

SEGMENT = 32


class Checkpoint:
    """Results of one run of row steps. Read `stored` to its end, then `add` the results behind it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._segment = 0
        self._held: list[bytes] = []

    def stored(self) -> Iterator[bytes]:
        """The results of an earlier build, in order, up to the first file that is not there or not whole."""
        while (path := self._path(self._segment)).exists():
            with path.open("rb") as stream:
                payloads = [payload for payload in iter(lambda: receive(stream), None) if payload is not None]
            if len(payloads) != SEGMENT:
                return
            self._segment += 1
            yield from payloads

    def add(self, payload: bytes) -> None:
        """Take one result. Raises OSError when the disk is full."""
        self._held.append(payload)
        if len(self._held) >= SEGMENT:
            self._write()

    def _write(self) -> None:
        path = self._path(self._segment)
        unfinished = path.with_suffix(".part")
        with unfinished.open("wb") as stream:
            for payload in self._held:
                stream.write(LENGTH.pack(len(payload)))
                stream.write(payload)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(unfinished, path)
        self._segment += 1
        self._held = []

    def _path(self, segment: int) -> Path:
        return self._folder / f"{segment:06}"
