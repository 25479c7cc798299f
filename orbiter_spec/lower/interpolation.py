"""The values that verl's configuration takes from elsewhere in itself: `${a.b}`, `${.a}`, `${oc.select:a.b,default}`.

OmegaConf is not used: importing it and Hydra costs 0.25 s and resolving one composed configuration 0.12 to 0.16 s,
where this takes a millisecond, and the base install needs neither. Given up are the resolvers that verl's own files do
not use (`oc.env`, `hydra:` and the rest); they are errors here, since a compiled configuration holds values only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from orbiter_spec.lower.overrides import OverrideError, parse_value
from orbiter_spec.lower.tree import MISSING, ComposeError, Route, Tree, copy_tree

_OPEN = re.compile(r"(\\*)\$\{")
_NODE = re.compile(r"(\.*)((?:[\w$-]+|\[[\w$-]+\])(?:\.[\w$-]+|\.?\[[\w$-]+\])*)?\Z")
_SELECT = re.compile(r"\s*oc\.select\s*:(.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reference:
    """A place in the configuration: from the root, or `up` containers above the value (1 is the value's own)."""

    path: Route
    up: int = 0


@dataclass(frozen=True, slots=True)
class Select:
    """A place that may be absent or missing, and what counts then: text with interpolations, a value, or None."""

    reference: Reference
    parts: tuple[Part, ...] | None = None
    value: Any = None


Part = str | Reference | Select


class _AbsentError(Exception):
    pass


def literal(text: str) -> str:
    r"""`text` written so that it stands for itself in a configuration: `${x}` becomes `\${x}`."""
    return _OPEN.sub(lambda found: found[1] * 2 + "\\${", text) if "${" in text else text


@lru_cache(maxsize=4096)
def parse(text: str) -> tuple[Part, ...]:
    """The parts of a string that holds `${`; ValueError when it is no interpolation known here."""
    parts: list[Part] = []
    start = 0
    while found := _OPEN.search(text, start):
        slashes = len(found[1])
        parts.append(text[start : found.start()] + "\\" * (slashes // 2))
        start = found.end()
        if slashes % 2:
            parts.append("${")
            continue
        end = _closing(text, start)
        parts.append(_interpolation(text[start:end]))
        start = end + 1
    parts.append(text[start:])
    return tuple(part for part in parts if part != "")


def _closing(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            if depth == 0:
                return at
            depth -= 1
    raise ValueError(f"an interpolation is not closed in {text!r}")


def _interpolation(inner: str) -> Reference | Select:
    if found := _SELECT.match(inner):
        key, comma, default = found[1].partition(",")
        reference = _reference(key)
        if not comma:
            return Select(reference)
        default = default.strip()
        return Select(reference, parse(default)) if "${" in default else Select(reference, None, parse_value(default))
    return _reference(inner)


def _reference(text: str) -> Reference:
    found = _NODE.match(text.strip())
    if not found or not found[0]:
        raise ValueError(f"only ${{key}} and ${{oc.select:key,default}} can be resolved, not ${{{text}}}")
    return Reference(tuple(re.findall(r"[\w$-]+", found[2] or "")), len(found[1]))


class Resolver:
    """Resolves one tree; the tree must not change while it is used."""

    def __init__(self, root: Tree) -> None:
        self._root = root
        self._known: dict[Route, Any] = {}
        self._open: set[Route] = set()

    def whole(self) -> Tree:
        """The complete tree with every interpolation resolved; ComposeError with the key of one that cannot be."""
        resolved: Tree = self._content(self._root, ())
        return resolved

    def value(self, route: Route) -> Any:
        """The resolved value at `route`, through interpolations on the way; KeyError when there is none."""
        try:
            return self._lookup(route)
        except _AbsentError:
            raise KeyError(".".join(route)) from None

    def _content(self, node: Any, route: Route) -> Any:
        if type(node) is dict:
            return {
                key: item
                if (kind := type(item)) is not dict and kind is not list and (kind is not str or "${" not in item)
                else self._content(item, (*route, key))
                for key, item in node.items()
            }
        if type(node) is list:
            return [self._content(item, (*route, str(at))) for at, item in enumerate(node)]
        if type(node) is str and "${" in node:
            return copy_tree(self._text(node, route))
        return node

    def _lookup(self, route: Route, *, as_text: bool = False) -> Any:
        """The value at `route`; what is printed into a text keeps the interpolations inside it, as OmegaConf has it."""
        node: Any = self._root
        resolved = False
        for at, part in enumerate(route):
            if type(node) is str and "${" in node and not resolved:
                node, resolved = self._text(node, route[:at]), True
            if type(node) is dict and part in node:
                node = node[part]
            elif type(node) is list and part.isdigit() and int(part) < len(node):
                node = node[int(part)]
            else:
                raise _AbsentError
        return node if resolved or (as_text and type(node) in (dict, list)) else self._content(node, route)

    def _text(self, text: str, route: Route) -> Any:
        if route in self._known:
            return self._known[route]
        key = ".".join(route)
        if route in self._open:
            raise ComposeError(key, "its value leads back to itself")
        self._open.add(route)
        try:
            value = self._evaluate(parse(text), route)
        except (ValueError, OverrideError) as problem:
            raise problem if isinstance(problem, ComposeError) else ComposeError(key, str(problem)) from None
        finally:
            self._open.discard(route)
        self._known[route] = value
        return value

    def _evaluate(self, parts: tuple[Part, ...], route: Route) -> Any:
        if len(parts) == 1:
            return self._part(parts[0], route)
        return "".join(str(self._part(part, route, as_text=True)) for part in parts)

    def _part(self, part: Part, route: Route, *, as_text: bool = False) -> Any:
        if isinstance(part, str):
            return part
        reference = part.reference if isinstance(part, Select) else part
        above = route[: len(route) - reference.up] if reference.up else ()
        try:
            value = self._lookup((*above, *reference.path), as_text=as_text)
        except _AbsentError:
            value = MISSING
            if isinstance(part, Reference):
                raise ValueError(f"there is no {'.'.join(reference.path)} to take the value from") from None
        if isinstance(part, Select) and value == MISSING:
            return self._evaluate(part.parts, route) if part.parts is not None else copy_tree(part.value)
        return value
