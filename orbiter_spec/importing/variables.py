"""A shell's variables: values, arrays, maps, attributes and the scopes of functions. Values in, values out.

An array and a map are one thing here, items by key: whole numbers in order for an array, names in the order written
for a map. Each item keeps the line it was written on, so that a finding can point there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from orbiter_spec.importing.script import Argument

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
POSITIONAL = "@"
FURTHEST = 100_000
"""The highest index of an array that is followed."""


class ReadonlyError(Exception):
    """A value for a variable that takes none any more."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable; `value` is None while it is declared only, `items` is None unless it is an array or a map."""

    value: str | None = None
    unknown: tuple[str, ...] = ()
    items: Mapping[int | str, Argument] | None = None
    attributes: frozenset[str] = frozenset()

    @property
    def is_map(self) -> bool:
        """True after `declare -A`."""
        return "A" in self.attributes


@dataclass
class Variables:
    """All variables of a shell; `environ` stands for the environment it was started with.

    `read` holds the names that the command in hand has looked up, `uses` the names behind each variable's value: what
    a launch has no use for need not be told. `POSITIONAL` is the name of `$1` and its like.
    """

    environ: Mapping[str, str]
    known: dict[str, Variable] = field(default_factory=dict)
    scopes: list[dict[str, Variable | None]] = field(default_factory=list)
    read: set[str] = field(default_factory=set)
    uses: dict[str, set[str]] = field(default_factory=dict)

    def behind_all(self, names: Iterable[str]) -> frozenset[str]:
        """`names` and every name whose value went into one of theirs."""
        found: set[str] = set()
        waiting = set(names)
        while waiting:
            name = waiting.pop()
            found.add(name)
            waiting |= self.uses.get(name, set()) - found
        return frozenset(found)

    def took(self, name: str) -> None:
        """The value that `name` has now came from what the command in hand has looked up."""
        self.uses.setdefault(name, set()).update(self.read)

    def get(self, name: str) -> Variable | None:
        """The variable behind a name, references followed."""
        name = self.behind(name)
        self.read.add(name)
        found = self.known.get(name)
        if found is None and name in self.environ:
            return Variable(self.environ[name])
        return found

    def plain(self, name: str) -> str | None:
        """The value of a variable; None where it has none, or one that is not known."""
        found = self.get(name)
        return None if found is None or found.unknown else found.value

    def behind(self, name: str) -> str:
        """The name that a reference (`declare -n`) leads to."""
        for _ in range(8):
            found = self.known.get(name)
            if found is None or "n" not in found.attributes or not re.fullmatch(NAME, found.value or ""):
                break
            name = found.value or ""
        return name

    def enter(self) -> None:
        """A function begins."""
        self.scopes.append({})

    def leave(self) -> None:
        """A function ends: what it declared is as it was before."""
        for name, before in self.scopes.pop().items():
            if before is None:
                self.known.pop(name, None)
            else:
                self.known[name] = before

    def declare(self, name: str, attributes: frozenset[str], *, local: bool) -> None:
        """Give a name attributes; in a function, `local` makes it a new variable until the function ends."""
        if local and self.scopes and name not in self.scopes[-1]:
            before = self.known.get(name)
            if before is not None and "r" in before.attributes:
                raise ReadonlyError(name)
            self.scopes[-1][name] = before
            self.known[name] = Variable()
        variable = self.known.get(name) or Variable(self.environ.get(name))
        items: Mapping[int | str, Argument] | None = variable.items
        if attributes & {"a", "A"} and items is None:
            items = {}
        self.known[name] = replace(variable, attributes=variable.attributes | attributes, items=items)

    def lock(self, name: str) -> None:
        """`readonly`."""
        self.declare(name, frozenset("r"), local=False)

    def writable(self, name: str) -> Variable:
        """The variable to write to. Raises ReadonlyError where none may be written."""
        variable = self.known.get(name) or Variable(self.environ.get(name))
        if "r" in variable.attributes:
            raise ReadonlyError(name)
        return variable

    def put(self, name: str, value: str, unknown: tuple[str, ...], *, line: int) -> None:
        """Set a plain value; of an array it is the first item."""
        name = self.behind(name)
        self.took(name)
        variable = self.writable(name)
        if variable.items is not None:
            self.put_item(name, "0" if variable.is_map else 0, Argument(value, line, unknown))
            return
        self.known[name] = replace(variable, value=_cased(value, variable), unknown=unknown)

    def put_item(self, name: str, key: int | str, item: Argument) -> None:
        """Set one item of an array or a map."""
        name = self.behind(name)
        self.took(name)
        variable = self.writable(name)
        items = dict(variable.items or {})
        if isinstance(key, int):
            key = key if key >= 0 else key + 1 + max((at for at in items if isinstance(at, int)), default=-1)
            if not 0 <= key <= FURTHEST:
                return
        items[key] = replace(item, text=_cased(item.text, variable))
        self.known[name] = replace(variable, items=items)

    def put_items(self, name: str, items: Mapping[int | str, Argument]) -> None:
        """Set all items of an array or a map."""
        name = self.behind(name)
        self.took(name)
        variable = self.writable(name)
        cased = {key: replace(item, text=_cased(item.text, variable)) for key, item in items.items()}
        self.known[name] = replace(variable, items=cased)

    def forget(self, name: str, key: int | str | None = None) -> None:
        """`unset`: a variable, or one item of it."""
        name = self.behind(name)
        variable = self.writable(name)
        if key is None:
            self.known[name] = Variable()
        elif variable.items is not None:
            items = {at: item for at, item in variable.items.items() if at != key}
            self.known[name] = replace(variable, items=items)


def in_order(items: Mapping[int | str, Argument]) -> list[tuple[int | str, Argument]]:
    """The items of an array by index, those of a map as written."""
    if all(isinstance(key, int) for key in items):
        return sorted(items.items(), key=lambda pair: int(pair[0]))
    return list(items.items())


def _cased(value: str, variable: Variable) -> str:
    if "u" in variable.attributes:
        return value.upper()
    return value.lower() if "l" in variable.attributes else value
