"""The tree that reading builds: scalars, lists and mappings that know where they were written.

Keys are strings without duplicates and aliases are shared nodes, so that the tree is a graph without cycles whose
unfolded size and height are bounded. Nodes compare by identity and are never changed after `environment` has run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from orbiter_spec.diagnostics import Place
from orbiter_spec.source.scalars import Value
from orbiter_spec.source.text import Source


@dataclass(eq=False, slots=True)
class Scalar:
    """One value or key. `plain` is false when it was quoted or written as a block.

    In every kind of node `faulty` marks a value that has been reported already and is only a stand-in.
    """

    source: Source
    start: int
    end: int
    value: Value
    plain: bool = True
    faulty: bool = False
    size: int = 1
    height: int = 0

    def place(self) -> Place:
        """Where it is written."""
        return self.source.place(self.start, self.end)


@dataclass(eq=False, slots=True)
class Sequence:
    """A list. Its span is the brackets, or the first dash."""

    source: Source
    start: int
    end: int
    items: list[Node]
    size: int = 1
    height: int = 1
    faulty: bool = False

    def place(self) -> Place:
        """Where it starts."""
        return self.source.place(self.start, self.end)


@dataclass(eq=False, slots=True)
class Entry:
    """A key and its value."""

    key: Scalar
    value: Node


@dataclass(eq=False, slots=True)
class Mapping:
    """A mapping. Its span is the braces, or its first key."""

    source: Source
    start: int
    end: int
    entries: dict[str, Entry] = field(default_factory=dict)
    size: int = 1
    height: int = 1
    faulty: bool = False

    def place(self) -> Place:
        """Where it starts."""
        return self.source.place(self.start, self.end)


Node = Scalar | Sequence | Mapping


def to_data(node: Node) -> Any:
    """Plain Python: dicts with string keys, lists, and scalars. Shared nodes become separate copies."""
    if isinstance(node, Mapping):
        return {name: to_data(entry.value) for name, entry in node.entries.items()}
    if isinstance(node, Sequence):
        return [to_data(item) for item in node.items]
    return node.value


def scalars_of(root: Node, *, keys: bool = False) -> Iterator[Scalar]:
    """Every value below `root`, and every key when asked, each once however many aliases lead to it."""
    seen: set[int] = set()
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Scalar):
            yield node
        elif isinstance(node, Sequence):
            waiting.extend(node.items)
        else:
            waiting.extend(entry.value for entry in node.entries.values())
            waiting.extend(entry.key for entry in node.entries.values() if keys)


def kind(node: Node) -> str:
    """What a node is, in a user's words: `a mapping`, `a list`, `a string`, `a number`, ..."""
    if isinstance(node, Mapping):
        return "a mapping"
    if isinstance(node, Sequence):
        return "a list"
    names = {str: "a string", bool: "true or false", int: "a whole number", float: "a number"}
    return names.get(type(node.value), "empty")
