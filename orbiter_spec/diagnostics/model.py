"""Diagnostic, Place and Report: frozen values that sort the same on every machine."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters: an error stops the command, a warning is a surprise, a note is advice."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A span on one line of a named text. Lines and columns count from one; `width` is in characters.

    `text` is that line, kept here so that renderers need no file.
    """

    file: str
    line: int = 1
    column: int = 1
    width: int = 1
    text: str = ""


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that takes part in a finding, with a short note about its part."""

    place: Place
    note: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    `message` is one lower-case line; `note` stands under the caret and carries the numbers; `help` says what to type.
    """

    id: str
    message: str
    place: Place | None = None
    note: str = ""
    help: str = ""
    severity: Severity = Severity.ERROR
    related: tuple[Related, ...] = ()

    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Orders by file, line, column, id and message; findings without a place come first."""
        where = self.place or Place("", 0, 0)
        return (where.file, where.line, where.column, self.id, self.message)


@dataclass(frozen=True, slots=True)
class Report:
    """Every finding of one command, sorted and free of duplicates."""

    diagnostics: tuple[Diagnostic, ...] = field(default=())

    @staticmethod
    def of(diagnostics: Iterable[Diagnostic]) -> Report:
        """Sort and deduplicate `diagnostics`."""
        return Report(tuple(sorted(dict.fromkeys(diagnostics), key=Diagnostic.sort_key)))

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.diagnostics)

    def __len__(self) -> int:
        return len(self.diagnostics)

    def count(self, severity: Severity) -> int:
        """Number of findings of one severity."""
        return sum(1 for found in self.diagnostics if found.severity is severity)

    @property
    def ok(self) -> bool:
        """True when nothing in the report is an error."""
        return self.count(Severity.ERROR) == 0


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to `name`, or None when nothing is close enough to be a help."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None
