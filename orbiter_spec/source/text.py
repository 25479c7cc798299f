"""A named text and its lines: turns character offsets into places.

Nodes keep offsets only. Lines and columns are worked out when somebody asks for a place, which for most of a spec
nobody does.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path

from orbiter_spec.diagnostics import Place

BREAK = re.compile(r"\r\n|\r|\n")


def readable(text: str) -> str:
    """`text` with what UTF-8 cannot write (bytes smuggled in by the operating system) replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclass(eq=False)
class Source:
    """One text that was read: a file, standard input, or a `--set` argument.

    `name` is how places call it, `folder` is what relative paths written in it start from.
    """

    name: str
    text: str
    path: Path | None = None
    folder: Path = field(default_factory=Path)
    _starts: list[int] = field(default_factory=list, repr=False)

    @property
    def starts(self) -> list[int]:
        """Offset of the first character of every line."""
        if not self._starts:
            self._starts = [0, *(found.end() for found in BREAK.finditer(self.text))]
        return self._starts

    def line_of(self, offset: int) -> int:
        """Number of the line that holds `offset`, counted from one."""
        return bisect_right(self.starts, offset)

    def line_text(self, line: int) -> str:
        """The text of one line, counted from one, without its line break."""
        starts = self.starts
        end = starts[line] if line < len(starts) else len(self.text)
        return self.text[starts[line - 1] : end].rstrip("\r\n")

    def place(self, start: int, end: int) -> Place:
        """The span `start` to `end`, cut at the end of its first line and never empty."""
        start = max(0, min(start, len(self.text)))
        line = self.line_of(start)
        text = self.line_text(line)
        column = start - self.starts[line - 1] + 1
        width = max(1, min(end - start, len(text) - column + 1))
        return Place(readable(self.name), line, column, width, readable(text))
