"""Two trees become one: mappings are joined key by key, everything else is replaced by the upper one.

Lists replace, because a list joined to another one cannot be made shorter again. Nothing given is changed: nodes may be
shared by aliases.
"""

from __future__ import annotations

from collections.abc import Mapping as Table

from orbiter_spec.source.nodes import Entry, Mapping, Node, Scalar
from orbiter_spec.source.routes import Route

Shorthands = Table[Route, str]
"""Routes at which one scalar stands for a mapping, and the key that it stands for in it."""


def merge(lower: Mapping, upper: Mapping, shorthands: Shorthands, route: Route = ()) -> Mapping:
    """`lower` with `upper` laid over it; keys keep the order of `lower`, new ones follow."""
    merged = Mapping(upper.source, upper.start, upper.end, dict(lower.entries))
    for name, entry in upper.entries.items():
        below = merged.entries.get(name)
        if below is not None:
            here = (*route, name)
            entry = Entry(entry.key, _merge_values(below.value, entry.value, shorthands, here))
        merged.entries[name] = entry
    return merged


def _merge_values(lower: Node, upper: Node, shorthands: Shorthands, route: Route) -> Node:
    if isinstance(upper, Mapping):
        lower = unfold(lower, shorthands, route)
        if isinstance(lower, Mapping):
            return merge(lower, upper, shorthands, route)
    return upper


def unfold(node: Node, shorthands: Shorthands, route: Route) -> Node:
    """The mapping that a shorthand string stands for; every other node as it is."""
    key = shorthands.get(route)
    if key is None or not isinstance(node, Scalar) or not isinstance(node.value, str):
        return node
    name = Scalar(node.source, node.start, node.end, key)
    return Mapping(node.source, node.start, node.end, {key: Entry(name, node)})
