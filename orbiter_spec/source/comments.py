"""`# orbiter: ignore[ORB203, ORB204] reason`: findings a person has decided to live with.

A comment behind a value covers its own line; a comment that stands alone covers the next line that is neither empty
nor a comment. Text that only looks like one, inside a string, is left alone: the spans of all scalars are known. A
comment that starts like one and is none gets a warning, since silence would read as obedience.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from orbiter_spec.diagnostics import Diagnostic, Place, Severity
from orbiter_spec.source.nodes import Scalar
from orbiter_spec.source.text import BREAK, Source

_COMMENT = re.compile(r"(?:(?<=\s)|^)#[ \t]*orbiter:(?P<words>[^\r\n]*)", re.MULTILINE)
_IGNORE = re.compile(r"[ \t]*ignore\[[ \t]*(?P<ids>ORB\d{3}(?:[ \t]*,[ \t]*ORB\d{3})*)[ \t]*\](?P<reason>.*)")


class Ignore(NamedTuple):
    """One comment: where it stands, the ids it names, the reason given ("" when none), and the line it covers."""

    place: Place
    ids: tuple[str, ...]
    reason: str
    line: int


def find_ignores(source: Source, scalars: list[Scalar]) -> tuple[list[Ignore], list[Diagnostic]]:
    """The ignore comments of one text, `scalars` being everything written in it, and a warning for each that is bad."""
    ignores: list[Ignore] = []
    found: list[Diagnostic] = []
    lines = _value_lines(source)
    for comment in _comments(source, scalars):
        place = source.place(comment.start(), comment.end())
        words = _IGNORE.fullmatch(comment["words"])
        if words is None:
            found.append(_misspelt(place))
            continue
        ids = tuple(id.strip() for id in words["ids"].split(","))
        following = bisect_left(lines, place.line)
        covered = lines[following] if following < len(lines) else place.line
        ignores.append(Ignore(place, ids, words["reason"].strip(), covered))
    return ignores, found


def _comments(source: Source, scalars: list[Scalar]) -> Iterator[re.Match[str]]:
    """What starts like one of our comments and lies in no scalar."""
    spans = sorted((scalar.start, scalar.end) for scalar in scalars if scalar.source is source)
    for comment in _COMMENT.finditer(source.text):
        before = bisect_right(spans, (comment.start(), len(source.text) + 1)) - 1
        if before < 0 or comment.start() >= spans[before][1]:
            yield comment


def _value_lines(source: Source) -> list[int]:
    """The lines that hold more than a comment, in order."""
    lines = enumerate(BREAK.split(source.text), start=1)
    return [line for line, text in lines if text.strip() and not text.lstrip().startswith("#")]


def _misspelt(place: Place) -> Diagnostic:
    cure = "write # orbiter: ignore[ORB203] and the reason"
    return Diagnostic("ORB013", "comment is not understood, and ignores nothing", place, "", cure, Severity.WARNING)
