"""`# orbiter: ignore[ORB203, ORB204] reason`: findings a person has decided to live with.

A comment behind a value covers its own line; a comment that stands alone covers the next line that is neither empty nor a
comment. Text that only looks like one, inside a string, is left alone: the spans of all scalars are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from orbiter_spec.diagnostics import Place
from orbiter_spec.source.nodes import Mapping, Node, Scalar, Sequence
from orbiter_spec.source.text import Source

_COMMENT = re.compile(r"(?:(?<=\s)|^)#[ \t]*orbiter:[ \t]*ignore\[([^\]\r\n]*)\][ \t]*([^\r\n]*)", re.MULTILINE)


class Ignore(NamedTuple):
    """One comment: where it stands, the ids it names, the reason given ("" when none), and the line it covers."""

    place: Place
    ids: tuple[str, ...]
    reason: str
    line: int


def find_ignores(source: Source, scalars: list[Scalar]) -> Iterator[Ignore]:
    """The ignore comments of one text, `scalars` being everything written in it."""
    for found in _COMMENT.finditer(source.text):
        if any(scalar.start <= found.start() < scalar.end for scalar in scalars if scalar.source is source):
            continue
        ids = tuple(part.strip() for part in found[1].split(",") if part.strip())
        place = source.place(found.start(), found.end())
        yield Ignore(place, ids, found[2].strip(), _covered_line(source, place))


def _covered_line(source: Source, place: Place) -> int:
    if not place.text.lstrip().startswith("#"):
        return place.line
    for line in range(place.line + 1, len(source.starts) + 1):
        text = source.line_text(line).strip()
        if text and not text.startswith("#"):
            return line
    return place.line


def all_scalars(root: Node) -> list[Scalar]:
    """Every key and value below `root`, each once."""
    scalars: list[Scalar] = []
    seen: set[int] = set()
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Scalar):
            scalars.append(node)
        elif isinstance(node, Sequence):
            waiting.extend(node.items)
        elif isinstance(node, Mapping):
            waiting.extend(part for entry in node.entries.values() for part in (entry.key, entry.value))
    return scalars
