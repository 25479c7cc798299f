"""Findings about data files: bounded in number, each with a place.

A broken file often breaks on every line. The first few lines are shown as they are, the rest become one count per file
and kind. A JSONL or CSV line is a place of its own; rows of other formats have no line, so the place is where the spec
names the file and the row is named in the message.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from orbiter_spec.data.request import SourceRequest
from orbiter_spec.diagnostics import Diagnostic, Place, Related

SHOWN_PER_KIND = 5
SHOWN_CHARACTERS = 160
"""A longer line is shown up to there, or up to its problem; beyond `FARTHEST_COLUMN` no text is shown."""
FARTHEST_COLUMN = 400


@dataclass(frozen=True, slots=True)
class Line:
    """Where a row came from: a line of a text file (with its text), or None for formats without lines."""

    number: int
    text: str

    def __reduce__(self) -> tuple[Any, ...]:
        return Line, (self.number, self.text)


@dataclass
class Problems:
    """Collects findings; `any` is whether an error was added, shown or only counted."""

    shown: list[Diagnostic] = field(default_factory=list)
    counts: Counter[tuple[SourceRequest, str]] = field(default_factory=Counter)

    @property
    def any(self) -> bool:
        """True once something was added."""
        return bool(self.counts)

    def add(
        self,
        source: SourceRequest,
        id: str,
        message: str,
        *,
        place: Place | None = None,
        note: str = "",
        help: str = "",
        related: tuple[Related, ...] = (),
    ) -> None:
        """One finding about `source`. Without a place it stands where the spec names the file."""
        self.counts[source, id] += 1
        if self.counts[source, id] <= SHOWN_PER_KIND:
            place = place or source.place or Place(source.label)
            self.shown.append(Diagnostic(id, message, place, note, help, related=related))

    def add_row(
        self,
        source: SourceRequest,
        id: str,
        message: str,
        row: int,
        line: Line | None,
        *,
        column: int = 1,
        note: str = "",
        help: str = "",
        place: Place | None = None,
    ) -> None:
        """One finding about a row, counted from one. `place` in the spec goes first, the row beside it."""
        at = line_place(source, line, column) if line is not None else None
        where = f"{source.label} row {row}"
        if place is not None:
            related = (Related(at, where),) if at is not None else ()
            self.add(source, id, f"{message}, in {where}", place=place, note=note, help=help, related=related)
        else:
            self.add(source, id, message if at is not None else f"{where}: {message}", place=at, note=note, help=help)

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was shown, and one count for each kind that was cut short."""
        counts = (
            Diagnostic(id, f"{count - SHOWN_PER_KIND} more findings like these in {source.label}", source.place)
            for (source, id), count in self.counts.items()
            if count > SHOWN_PER_KIND
        )
        return (*self.shown, *counts)


def line_place(source: SourceRequest, line: Line, column: int = 1) -> Place:
    """The place of a column (from one) in a line, with as much of the text as can be printed."""
    end = max(SHOWN_CHARACTERS, column + 20)
    text = line.text[:end] if column <= FARTHEST_COLUMN else ""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return Place(source.label, line.number, column, 1, printable)
