"""A configuration as plain dicts, lists and scalars, and the one way settings are put into it.

The rules are Hydra's, as `hydra.compose` shows them: a mapping merges into a mapping, a list replaces a list, a scalar
replaces anything, and a key below something that is no container turns that something into a mapping first, even
where an interpolation stood. What Hydra asks a `+` for is simply added here, because settings carry no signs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Tree = dict[str, Any]
Route = tuple[str, ...]

MISSING: Final = "???"


class ComposeError(ValueError):
    """Settings that do not make a configuration; `key` is where."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}")
        self.key = key
        self.message = message


class _Removed:
    def __repr__(self) -> str:
        return "REMOVED"


REMOVED: Final = _Removed()
"""The value of a setting that takes its key out, as `~key` does."""


def plain(value: Any) -> Any:
    """A copy of `value` made of dict, list, str, int, float, bool and None only; TypeError for anything else."""
    kind = type(value)
    if kind is str or kind is bool or kind is int or kind is float or value is None:
        return value
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    for base in (str, int, float):
        if isinstance(value, base):
            return base(value)
    raise TypeError(f"a configuration cannot hold {kind.__name__}: {value!r}")


def copy_tree(node: Any) -> Any:
    """A copy of a tree that shares no container with it."""
    if type(node) is dict:
        return {key: copy_tree(item) if type(item) in (dict, list) else item for key, item in node.items()}
    if type(node) is list:
        return [copy_tree(item) for item in node]
    return node


def put(root: Tree, key: str, value: Any) -> None:
    """Put one setting into `root` as a Hydra override would; ComposeError where a list has no such place."""
    *parents, last = key.split(".")
    node: Any = root
    for part in parents:
        child = _child(node, part)
        if type(child) not in (dict, list):
            if value is REMOVED:
                return
            child = {}
            _set(node, part, child, key)
        node = child
    existing = _child(node, last)
    if value is REMOVED:
        if type(node) is dict:
            node.pop(last, None)
    elif type(existing) is dict and isinstance(value, Mapping):
        merge(existing, plain(value))
    else:
        _set(node, last, plain(value), key)


def merge(into: Tree, other: Tree) -> None:
    """Merge `other` into `into`; a missing value (`???`) does not replace one that is there."""
    for key, value in other.items():
        existing = into.get(key)
        if type(existing) is dict and type(value) is dict:
            merge(existing, value)
        elif key not in into or value != MISSING:
            into[key] = value


def same(one: Any, other: Any) -> bool:
    """Equal in value and in kind: 1, 1.0 and true are three values, and the order of keys does not count."""
    if type(one) is not type(other):
        return False
    if type(one) is dict:
        return one.keys() == other.keys() and all(same(item, other[key]) for key, item in one.items())
    if type(one) is list:
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) or (one != one and other != other)


def _child(node: Any, part: str) -> Any:
    if type(node) is dict:
        return node.get(part)
    return node[int(part)] if part.isdigit() and int(part) < len(node) else None


def _set(node: Any, part: str, value: Any, key: str) -> None:
    if type(node) is dict:
        node[part] = value
    elif part.isdigit() and int(part) < len(node):
        node[int(part)] = value
    else:
        raise ComposeError(key, f"the list there has {len(node)} items, so no item {part}")
