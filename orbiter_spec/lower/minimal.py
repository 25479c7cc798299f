"""The shortest list of Hydra overrides for a configuration.

The settings are put into the tree first and the tree is compared with the default one, so that order, repetition and
the form of the settings do not matter; what differs is listed in the tree's order. A difference is then left out if the
default resolves to the same value under all the others: an override decides one value only, and if that value does not
change, nothing that is taken from it does. So one look at each is enough, and nothing shorter exists short of grouping
keys into mappings, which nobody would want to read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orbiter_spec.lower.interpolation import Resolver
from orbiter_spec.lower.overrides import OverrideError, addressable, format_override
from orbiter_spec.lower.target import Target
from orbiter_spec.lower.tree import ComposeError, Route, Tree, put, same

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class _Change:
    """One node that differs: its container, its key there, and the default (or _ABSENT)."""

    container: dict[str, Any]
    route: Route
    default: Any


def minimal_overrides(target: Target, engine: str, settings: Mapping[str, Any]) -> list[str]:
    """Overrides for `ppo_trainer` that compose to `compose(target, engine, settings)`, `model_engine` first if not dp.

    Each is one argument, not quoted for a shell. Raises ComposeError like `compose`, OverrideError for a value that
    Hydra's grammar cannot say.
    """
    default, tree = target.shared_tree(engine), target.tree(engine)
    for key, value in settings.items():
        if key != "model_engine":
            put(tree, key, value)
    whole = Resolver(tree)
    lines = [] if engine == "dp" else [f"model_engine={engine}"]
    for change in list(_changes(default, tree, ())):
        if not _droppable(tree, change, whole):
            lines += _lines(change)
    return lines


def unsayable(key: str, value: Any) -> str | None:
    """Why no override can set `key` to `value`, or None when one can."""
    route = tuple(key.split("."))
    if all(map(addressable, route)) and not isinstance(value, (dict, list)):
        return None
    try:
        _say(route, value, "+")
    except OverrideError as problem:
        return str(problem)
    return None


def _changes(default: Tree, tree: Tree, route: Route) -> Iterator[_Change]:
    for key, value in tree.items():
        before = default.get(key, _ABSENT)
        if type(before) is dict and type(value) is dict:
            yield from _changes(before, value, (*route, key))
        elif before is _ABSENT or not same(before, value):
            yield _Change(tree, (*route, key), before)
    for key in default:
        if key not in tree:
            yield _Change(tree, (*route, key), default[key])


def _droppable(tree: Tree, change: _Change, whole: Resolver) -> bool:
    """Put the default back; keep it there and say yes if the value is the same with it."""
    container, key = change.container, change.route[-1]
    if change.default is _ABSENT or key not in container:
        return False
    ours, wanted = container[key], whole.value(change.route)
    container[key] = change.default
    try:
        if same(Resolver(tree).value(change.route), wanted):
            return True
    except ComposeError:
        pass
    container[key] = ours
    return False


def _lines(change: _Change) -> Iterator[str]:
    route, before = change.route, change.default
    if route[-1] not in change.container:
        if before is None or isinstance(before, str):
            yield _say(route, 0, "")  # Hydra takes a key whose value is null for absent, and will not remove it
        yield _remove(route)
        return
    value = change.container[route[-1]]
    containers = {type(before), type(value)} & {dict, list}
    if len(containers) == 2:
        yield _remove(route)
        yield from _added(route, value, "+")
    elif before is _ABSENT or (type(value) is dict and value):
        through = isinstance(before, str) and "${" in before
        yield from _added(route, value, "++" if through else "+")
    else:
        yield _say(route, value, "")


def _added(route: Route, value: Any, sign: str) -> Iterator[str]:
    """New keys leaf by leaf."""
    if type(value) is not dict or not value:
        yield _say(route, value, sign)
        return
    for key, item in value.items():
        yield from _added((*route, key), item, sign)


def _say(route: Route, value: Any, sign: str) -> str:
    """One override; what no dotted key can name goes as a mapping below the last name that can be said."""
    end = next((at for at, part in enumerate(route) if not addressable(part)), len(route))
    for part in reversed(route[end:]):
        value = {part: value}
    if not end:
        raise OverrideError(f"Hydra's overrides have no way to write the key {route[0]!r}")
    return format_override(".".join(route[:end]), value, sign if end == len(route) else "+")


def _remove(route: Route) -> str:
    if not all(map(addressable, route)):
        raise OverrideError(f"Hydra's overrides have no way to remove {'.'.join(route)}")
    return f"~{'.'.join(route)}"
