"""Two trees become one: mappings are joined key by key, everything else is replaced by the upper one.

Lists replace, because a list joined to another one cannot be made shorter again. Nothing given is changed: nodes may be
shared by aliases.
"""

from __future__ import annotations

from collections.abc import Callable

from orbiter_spec.source.nodes import Entry, Mapping, Node, Scalar
from orbiter_spec.source.routes import Route

Shorthand = Callable[[Route], str | None]
"""The key that a scalar at a route stands for in a mapping, or None where it stands for none."""


def merge(lower: Mapping, upper: Mapping, shorthand: Shorthand, route: Route = ()) -> Mapping:
    """`lower` with `upper` laid over it; keys keep the order of `lower`, new ones follow."""
    merged = Mapping(upper.source, upper.start, upper.end, dict(lower.entries))
    for name, entry in upper.entries.items():
        below = merged.entries.get(name)
        if below is not None:
            here = (*route, name)
            entry = Entry(entry.key, _merge_values(below.value, entry.value, shorthand, here))
        merged.entries[name] = entry
    return merged


def _merge_values(lower: Node, upper: Node, shorthand: Shorthand, route: Route) -> Node:
    if isinstance(upper, Mapping):
        lower = unfold(lower, shorthand, route)
        if isinstance(lower, Mapping):
            return merge(lower, upper, shorthand, route)
    return upper


def unfold(node: Node, shorthand: Shorthand, route: Route) -> Node:
    """The mapping that a shorthand string stands for; every other node as it is."""
    key = shorthand(route)
    if key is None or not isinstance(node, Scalar) or not isinstance(node.value, str):
        return node
    name = Scalar(node.source, node.start, node.end, key)
    return Mapping(node.source, node.start, node.end, {key: Entry(name, node)})
