"""One source line as a terminal shows it: made printable, cut to a window around the caret, with columns counted.

A column of a place is a character, a column of a terminal is not: tabs, wide and combining characters differ, and
control characters must not reach the terminal at all. Everything here is counted per character, then summed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from orbiter_spec.diagnostics.model import Place

WINDOW = 100
"""Columns of a source line shown at most."""

_TAB = "    "
_CUT = "..."


@dataclass(frozen=True, slots=True)
class Snippet:
    """A line to print, and below it how many blanks come before the caret and how many carets there are."""

    text: str
    indent: int
    width: int


def printable(text: str) -> str:
    """`text` on one line, with every character that a terminal would act on escaped."""
    return text if text.isprintable() else "".join(_shown(char) for char in text)


def cut_snippet(place: Place, window: int = WINDOW) -> Snippet:
    """The line of `place`, at most `window` columns of it, and where the caret stands below it."""
    shown = [_shown(char) for char in place.text]
    edges = [0, *accumulate(_columns(part) for part in shown)]
    first = min(max(place.column - 1, 0), len(shown))
    last = min(first + max(place.width, 1), len(shown))
    start, end = _window(edges, first, last, window)
    head = _CUT if start else ""
    tail = _CUT if end < len(shown) else ""
    stop = min(last, end)
    return Snippet(
        head + "".join(shown[start:end]) + tail,
        len(head) + edges[first] - edges[start],
        max(1, edges[stop] - edges[first]),
    )


def _window(edges: list[int], first: int, last: int, window: int) -> tuple[int, int]:
    """The range of characters to show: all of them when they fit, else a third of the room before the caret."""
    count = len(edges) - 1
    if edges[count] <= window:
        return 0, count
    room = window - 2 * len(_CUT)
    before = max(room // 3, room - (edges[count] - edges[first]), 0)
    start = first
    while start > 0 and edges[first] - edges[start - 1] <= before:
        start -= 1
    end = min(max(last, start), count)
    while end > first + 1 and edges[end] - edges[start] > room:
        end -= 1
    while end < count and edges[end + 1] - edges[start] <= room:
        end += 1
    return start, end


def _shown(char: str) -> str:
    if char == "\t":
        return _TAB
    if char.isprintable():
        return char
    if char in "\n\r":
        return {"\n": "\\n", "\r": "\\r"}[char]
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"


def _columns(text: str) -> int:
    """Columns that `text`, made printable, takes on a terminal."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)
