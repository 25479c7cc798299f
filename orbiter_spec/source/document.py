"""A document that has been read: plain data, and for every route in it the place where it was written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orbiter_spec.diagnostics import Place
from orbiter_spec.source.comments import Ignore
from orbiter_spec.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from orbiter_spec.source.routes import Route


@dataclass
class Document:
    """One spec with everything it extends, the overrides and the environment applied.

    `data` holds dicts with string keys, lists, strings, numbers, booleans and None. `path` is the spec as it was named,
    None for standard input. `files` are all files that were read, the spec first.
    """

    data: dict[str, Any]
    path: Path | None
    files: tuple[Path, ...]
    root: Mapping = field(repr=False)
    comments: tuple[Ignore, ...] = field(default=(), repr=False)

    def place(self, route: Route, *, key: bool = False) -> Place:
        """Where the value at `route` is written, or its key. Of a route that is absent, the nearest part that exists.

        An absent route is shown at the key of the mapping it is missing from; a value left empty is shown at its key.
        """
        node, entry, whole = self._find(route)
        if entry is not None and (key or not whole or _is_empty(node)):
            inside_shorthand = not key and not whole and isinstance(node, Scalar) and not _is_empty(node)
            return node.place() if inside_shorthand else entry.key.place()
        return node.place()

    def base(self, route: Route) -> Path:
        """The folder that a relative path written at `route` starts from, named the way the spec's own path was.

        It is the folder of the file that wrote the value; the current folder for `--set` and standard input.
        """
        return self._find(route)[0].source.folder

    def has(self, route: Route) -> bool:
        """True when something is written at `route`, if only an empty value."""
        return self._find(route)[2]

    def ignores(self) -> list[Ignore]:
        """The `# orbiter: ignore[...]` comments of all files, in the order of `files`."""
        return list(self.comments)

    def faults(self) -> frozenset[Route]:
        """Routes whose value was reported while reading and is only a stand-in; more about them would be an echo."""
        return frozenset(_faulty(self.root, ()))

    def _find(self, route: Route) -> tuple[Node, Entry | None, bool]:
        """The node at `route` or its nearest ancestor, the entry that holds it, and whether the route was found."""
        node: Node = self.root
        entry: Entry | None = None
        for part in route:
            if isinstance(node, Mapping) and str(part) in node.entries:
                entry = node.entries[str(part)]
                node = entry.value
            elif isinstance(node, Sequence) and isinstance(part, int) and 0 <= part < len(node.items):
                node, entry = node.items[part], None
            else:
                return node, entry, False
        return node, entry, True


def _is_empty(node: Node) -> bool:
    return isinstance(node, Scalar) and node.start == node.end


def _faulty(node: Node, route: Route) -> Iterator[Route]:
    if node.faulty:
        yield route
    elif isinstance(node, Mapping):
        for name, entry in node.entries.items():
            yield from _faulty(entry.value, (*route, name))
    elif isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            yield from _faulty(item, (*route, index))
