"""`--set path=value`: one value laid over the document, typed like YAML, placed in the argument itself.

`--set path=` with nothing behind it takes back what the document says there, as if it had been left out.

The value is read as YAML with spaces in place of the path, so that its offsets are offsets in the argument. The tree is
copied along the path, because nodes may be shared by aliases.
"""

from __future__ import annotations

from dataclasses import dataclass

from orbiter_spec.diagnostics import Diagnostic, Related
from orbiter_spec.source.compose import compose
from orbiter_spec.source.extends import KEY
from orbiter_spec.source.files import check_text
from orbiter_spec.source.limits import MAX_DEPTH
from orbiter_spec.source.merge import Shorthand, unfold
from orbiter_spec.source.nodes import Entry, Mapping, Node, Scalar, Sequence, kind
from orbiter_spec.source.routes import Route, format_route, scan_route
from orbiter_spec.source.text import Source, readable

NAME = "--set"
_CURE = "write --set path=value, as in --set algorithm.learning_rate=1e-5"


@dataclass(frozen=True)
class Override:
    """One parsed argument: the parts of its path as scalars with places, and its value; None takes back."""

    parts: tuple[Scalar, ...]
    value: Node | None

    @property
    def route(self) -> Route:
        """The path as a route."""
        return tuple(part.value for part in self.parts if isinstance(part.value, str | int))


def parse_override(argument: str) -> tuple[Override | None, list[Diagnostic]]:
    """Split and type one `--set` argument."""
    source = Source(NAME, readable(argument))
    if source.text != argument:
        return None, [Diagnostic("ORB012", "argument is not UTF-8", source.place(0, len(argument)), help=_CURE)]
    found = check_text(source)
    if found:
        return None, found
    try:
        parts, end = scan_route(source.text)
    except ValueError as error:
        return None, [Diagnostic("ORB012", str(error), source.place(0, 1), help=_CURE)]
    refused = _check_path(source, parts, end)
    if refused:
        return None, [refused]
    value, found = compose(source, " " * (end + 1) + source.text[end + 1 :])
    if value is None and found:
        return None, found
    keys = tuple(Scalar(source, start, stop, part) for part, start, stop in parts)
    return Override(keys, value), found


def _check_path(source: Source, parts: list[tuple[str | int, int, int]], end: int) -> Diagnostic | None:
    if source.text[end : end + 1] != "=":
        message = "no `=` follows the path" if end == len(source.text) else "path cannot be read"
        return Diagnostic("ORB012", message, source.place(end, end + 1), help=_CURE)
    if parts[0][0] == KEY:
        place = source.place(parts[0][1], parts[0][2])
        return Diagnostic("ORB012", "extends cannot be set from outside", place, help="write it in the file")
    if len(parts) >= MAX_DEPTH:
        return Diagnostic("ORB012", f"path is longer than {MAX_DEPTH - 1} parts", source.place(0, end), help=_CURE)
    return None


def apply_override(root: Mapping, override: Override, shorthand: Shorthand) -> tuple[Mapping, Diagnostic | None]:
    """`root` with the value set, or `root` as it is and the reason."""
    try:
        changed = _set(root, override, 0, shorthand)
    except _Misfit as misfit:
        return root, misfit.diagnostic
    assert isinstance(changed, Mapping)
    return changed, None


class _Misfit(Exception):  # noqa: N818
    """The path does not fit the document. Never leaves this module."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def _set(node: Node | None, override: Override, depth: int, shorthand: Shorthand) -> Node | None:
    """A copy of `node` in which what the parts from `depth` on lead to is the override's value, or is gone."""
    if depth == len(override.parts):
        return override.value
    part = override.parts[depth]
    if node is not None:
        node = _unfolded(node, override, depth, shorthand)
    if isinstance(node, Sequence):
        return _set_item(node, override, depth, shorthand)
    if node is None or (isinstance(node, Scalar) and node.value is None):
        node = Mapping(part.source, part.start, part.end)
    if not isinstance(node, Mapping):
        raise _Misfit(_no_mapping(node, override, depth))
    name = str(part.value)
    below = node.entries.get(name)
    if below is None and override.value is None:
        return node
    value = _set(below.value if below else None, override, depth + 1, shorthand)
    entries = dict(node.entries)
    if value is None:
        del entries[name]
    else:
        entries[name] = Entry(below.key if below and depth + 1 < len(override.parts) else part, value)
    return Mapping(node.source, node.start, node.end, entries)


def _unfolded(node: Node, override: Override, depth: int, shorthand: Shorthand) -> Node:
    """The mapping that a shorthand stands for, also where it is a list, or one item of a list that is set into."""
    if depth and isinstance(override.route[depth - 1], int):
        return _unfolded_item(node, override.route[:depth], shorthand)
    key, deeper = shorthand(override.route[:depth]), override.parts[depth + 1 : depth + 2]
    if key is None or override.parts[depth].value != key:
        return unfold(node, shorthand, override.route[:depth])
    if isinstance(node, Scalar) and isinstance(node.value, str) and deeper and isinstance(deeper[0].value, int):
        node = Sequence(node.source, node.start, node.end, [node])
    if isinstance(node, Sequence):
        name = Scalar(node.source, node.start, node.end, key)
        return Mapping(node.source, node.start, node.end, {key: Entry(name, node)})
    return unfold(node, shorthand, override.route[:depth])


def _unfolded_item(node: Node, route: Route, shorthand: Shorthand) -> Node:
    """An item of a list, which stands for what the list would alone: in `rewards`, for a part."""
    named = tuple(part for part in route if isinstance(part, str))
    key = shorthand(named)
    key = shorthand((*named, key)) or key if key else None
    return unfold(node, lambda _: key, route) if key else node


def _set_item(node: Sequence, override: Override, depth: int, shorthand: Shorthand) -> Node:
    part = override.parts[depth]
    index, length = part.value, len(node.items)
    if not isinstance(index, int) or index > length:
        raise _Misfit(_no_item(node, override, depth))
    below = node.items[index] if index < length else None
    value = _set(below, override, depth + 1, shorthand)
    kept = [] if value is None else [value]
    return Sequence(node.source, node.start, node.end, [*node.items[:index], *kept, *node.items[index + 1 :]])


def _no_mapping(node: Node, override: Override, depth: int) -> Diagnostic:
    part, shown = override.parts[depth], format_route(override.route[:depth])
    related = (Related(node.place(), "written here"),)
    message = f"{shown} is {kind(node)}, so nothing can be set inside it"
    cure = f"set {shown} itself, or write it as a mapping in the file"
    return Diagnostic("ORB012", message, part.place(), help=cure, related=related)


def _no_item(node: Sequence, override: Override, depth: int) -> Diagnostic:
    part, shown = override.parts[depth], format_route(override.route[:depth])
    length = len(node.items)
    related = (Related(node.place(), "written here"),)
    cure = f"write {shown}[0] to {shown}[{length}]; the last adds an item" if length else f"write {shown}[0]"
    message = f"{shown} is a list of {length}, and {part.value} is no index into it"
    return Diagnostic("ORB012", message, part.place(), help=cure, related=related)
