"""`deduplicate`: of rows that are the same, or nearly, the first stays.

Equal texts are found first, by a hash of 128 bits (a set in memory, some 100 bytes a row, and beyond `HELD_KEYS` rows a
table on disk). With a threshold below one, what is left waits on disk while `data.near` looks for similar texts.
"""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from orbiter_spec.data.blocks import marks_of, select, unmarked
from orbiter_spec.data.columns import ABSENT, look_up
from orbiter_spec.data.convert import to_json
from orbiter_spec.data.pipeline import Batch, Context, Rows, StepError, row_name
from orbiter_spec.data.read import Row
from orbiter_spec.data.request import Columns, StepReport, StepRequest
from orbiter_spec.data.spool import spooled
from orbiter_spec.data.steps.meaning import name_of, need

if TYPE_CHECKING:
    from orbiter_spec.data.near import NearIndex

HELD_KEYS = 4_000_000
SHINGLE_WORDS = 3
MISSING = "near-duplicates need rensa and numpy"


def make(request: StepRequest, context: Context) -> Deduplicate:
    """The step; without a threshold only equal texts are dropped."""
    settings = request.settings
    columns = tuple(settings["columns"]) if settings.get("columns") else None
    shingle_words = int(settings.get("shingle_words", SHINGLE_WORDS))
    threshold = 1.0 if context.light else float(settings.get("threshold", 1.0))
    return Deduplicate(threshold, columns, shingle_words, context)


@dataclass
class Deduplicate:
    """`compared` are the columns, or None for the input."""

    threshold: float
    compared: tuple[str, ...] | None
    shingle_words: int
    context: Context

    def prepare(self, rows: Batch) -> None:
        """Leave each row's hash, and the signature where one is needed, on the row."""
        texts = [compared_text(row, self.compared, self.context.columns) for row in rows]
        marks = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        if self.threshold < 1:
            marks = [mark + signature for mark, signature in zip(marks, self._signatures(texts), strict=True)]
        for row, mark in zip(rows, marks, strict=True):
            row.mark = mark

    def stream(self, batches: Iterator[Rows], report: StepReport) -> Iterator[Rows]:
        """The rows that stay, in their order."""
        different = self._different(batches, report)
        yield from different if self.threshold >= 1 else self._not_near(different, report)

    def _different(self, batches: Iterator[Rows], report: StepReport) -> Iterator[Rows]:
        with Keys(self.context.scratch) as keys:
            for batch in batches:
                kept = [keys.add(mark[:16]) for mark in marks_of(batch)]
                _say(batch, kept, "equal to an earlier row", report)
                yield select(batch, kept)

    def _not_near(self, batches: Iterator[Rows], report: StepReport) -> Iterator[Rows]:
        from orbiter_spec.data.near import NearIndex

        folder = Path(tempfile.mkdtemp(prefix="near-", dir=self.context.scratch))
        try:
            index = NearIndex(folder, self.threshold)
            with spooled(_indexed(batches, index), self.context.scratch) as spool:
                dropped = index.duplicates()
                position = 0
                for batch in spool:
                    kept = (~dropped[position : position + len(batch)]).tolist()
                    position += len(batch)
                    _say(batch, kept, f"similar to an earlier row, by {self.threshold:g}", report)
                    yield select(batch, kept)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _signatures(self, texts: list[str]) -> list[bytes]:
        from orbiter_spec.data.shingles import signatures

        try:
            import numpy  # noqa: F401

            return signatures(texts, self.shingle_words)
        except ImportError:
            raise StepError(f"deduplicate: {MISSING}", help="pip install 'orbiter-spec[data]'") from None


def _indexed(batches: Iterator[Rows], index: NearIndex) -> Iterator[Rows]:
    for batch in batches:
        index.add([mark[16:] for mark in marks_of(batch)])
        yield unmarked(batch)


def _say(batch: Rows, kept: list[bool], reason: str, report: StepReport) -> None:
    for place, good in enumerate(kept):
        if not good:
            report.drop(reason, lambda place=place: row_name(batch[place]))  # type: ignore[misc]


def compared_text(row: Row, compared: tuple[str, ...] | None, columns: Columns) -> str:
    """What of a row is compared: the columns that are named, else the chat, else the input."""
    if compared is None:
        names: tuple[str, ...] = (name_of("chat", row.fields, columns) or need("input", row, columns, "deduplicate"),)
    else:
        names = compared
    values = [look_up(row.fields, name) for name in names]
    if all(value is ABSENT for value in values):
        raise StepError(
            f"deduplicate: no {' or '.join(names)} in {row_name(row)}",
            note=f"the row has {', '.join(list(row.fields)[:12]) or 'no columns'}",
        )
    return "\n".join(
        value if isinstance(value, str) else to_json(None if value is ABSENT else value) for value in values
    )


@dataclass
class Keys:
    """A set of hashes that goes to disk when it grows large."""

    folder: Path | None
    held: set[bytes] = field(default_factory=set)
    _table: sqlite3.Connection | None = None
    _home: Path | None = None

    def add(self, key: bytes) -> bool:
        """Whether the key is new."""
        if key in self.held:
            return False
        if len(self.held) < HELD_KEYS:
            self.held.add(key)
            return True
        if self._table is None:
            self._home = Path(tempfile.mkdtemp(prefix="keys-", dir=self.folder))
            self._table = sqlite3.connect(self._home / "keys", isolation_level=None)
            self._table.execute("PRAGMA journal_mode = OFF")
            self._table.execute("PRAGMA synchronous = OFF")
            self._table.execute("CREATE TABLE keys (key BLOB PRIMARY KEY) WITHOUT ROWID")
        return self._table.execute("INSERT OR IGNORE INTO keys VALUES (?)", (key,)).rowcount == 1

    def __enter__(self) -> Keys:
        return self

    def __exit__(self, *_: object) -> None:
        if self._table is not None:
            self._table.close()
        if self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)
