"""What gives a shell's variables values and attributes: assignments, `declare` and its kin, `let`, `unset`, `read`.

Words are expanded before a name is declared, as in bash, so `local N=$N` reads the caller's N. Where nobody can say
whether a command runs, the first value stands and the finding says which one was taken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from orbiter_spec.importing.branches import Branches
from orbiter_spec.importing.expander import Expander
from orbiter_spec.importing.script import Argument
from orbiter_spec.importing.variables import NAME, ReadonlyError
from orbiter_spec.importing.words import Piece, Word

DECLARATIONS = ("declare", "typeset", "local", "readonly", "export")
READERS = {"read": "dintpuN", "mapfile": "dnOsuCc", "readarray": "dnOsuCc"}
"""Commands that fill variables with what only a running shell has, and their options whose value is no name."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """`NAME[key]+=value`; `key` is None without brackets, `items` holds the words of `NAME=( ... )`."""

    name: str
    key: str | None
    adds: bool
    value: tuple[Piece, ...]
    items: tuple[Word, ...] | None
    line: int

    @property
    def left(self) -> str:
        """The part before the value."""
        return f"{self.name}{'' if self.key is None else f'[{self.key}]'}{'+' if self.adds else ''}="


@dataclass(frozen=True, slots=True)
class Item:
    """One item of `NAME=( ... )`, expanded."""

    key: str | None
    adds: bool
    value: Argument


def assignment(word: Word, expander: Expander) -> Assignment | None:
    """The assignment a word is, or None: its name and its sign stand bare, its key may be anything."""
    name, rest = _bare_name(word.pieces)
    if not name:
        return None
    key = None
    if rest and _is(rest[0], "["):
        close = next((at for at, piece in enumerate(rest) if _is(piece, "]")), None)
        if close is None:
            return None
        key = expander.text(rest[1:close], word.line).text
        rest = rest[close + 1 :]
    adds = bool(rest) and _is(rest[0], "+")
    rest = rest[adds:]
    if not rest or not _is(rest[0], "="):
        return None
    return Assignment(name, key, adds, tuple(rest[1:]), None if word.array is None else tuple(word.array), word.line)


def _is(piece: Piece, sign: str) -> bool:
    return piece.kind == "text" and piece.text == sign and not piece.quoted


def _bare_name(pieces: Sequence[Piece]) -> tuple[str, list[Piece]]:
    """The name a word begins with and the pieces after it; bare text is one character a piece."""
    name = ""
    for at, piece in enumerate(pieces):
        if piece.kind != "text" or piece.quoted or not re.fullmatch(NAME, name + piece.text):
            return name, list(pieces[at:])
        name += piece.text
    return name, []


class Declarations:
    """Carries assignments and declarations out on the variables of an expander."""

    def __init__(self, expander: Expander, branches: Branches) -> None:
        self.expander = expander
        self.variables = expander.variables
        self.branches = branches

    def assign(self, found: Assignment) -> None:
        """Carry out one assignment."""
        value = self._value(found)
        self._guarded(found, value)

    def declare(self, words: Sequence[Word]) -> None:
        """`declare`, `typeset`, `local`, `readonly`, `export`."""
        command, options = words[0].plain, ""
        for word in words[1:]:
            text = word.plain
            if text[:1] in ("-", "+") and len(text) > 1:
                options += text[1:] if text[0] == "-" else ""
                continue
            for found in self._meant(word):
                self._declare(command, options, found)

    def _declare(self, command: str, options: str, found: Assignment | str) -> None:
        if set(options) & set("fFp"):
            return
        name = found if isinstance(found, str) else found.name
        value = None if isinstance(found, str) else self._value(found)
        attributes = {"readonly": "r", "export": ""}.get(command, "") + options
        local = command not in ("readonly", "export") and "g" not in options
        try:
            self.variables.declare(name, frozenset(attributes) & frozenset("aAilnu"), local=local)
        except ReadonlyError:
            self.expander.note("readonly", name)
            return
        if isinstance(found, Assignment) and value is not None:
            self._guarded(found, value)
        if "r" in attributes:
            self.variables.declare(name, frozenset("r"), local=False)

    def _meant(self, word: Word) -> list[Assignment | str]:
        """What a word of a declaration assigns or names; `export "X=1"` is quoted and assigns all the same."""
        found = assignment(word, self.expander)
        if found is not None:
            return [found]
        meant: list[Assignment | str] = []
        for argument in self.expander.expand(word):
            name, sign, value = argument.text.partition("=")
            if sign and re.fullmatch(NAME, name):
                meant.append(Assignment(name, None, False, (Piece("text", value, True),), None, word.line))
            elif re.fullmatch(NAME, argument.text):
                meant.append(argument.text)
        return meant

    def let(self, words: Sequence[Word]) -> bool | None:
        """`let` and `(( ))`: whether the last expression is not 0, or None where that is not known."""
        value: int | None = 0
        for word in words:
            for argument in self.expander.expand(word):
                if self.branches.doubtful:
                    self.expander.note("condition", f"{argument.text} not worked out")
                    return None
                value = self.expander.number(argument.text, word.line)
        return None if value is None else bool(value)

    def unset(self, words: Sequence[Word]) -> None:
        """`unset NAME`, `unset 'A[key]'`; where it is not known to run, nothing is taken away."""
        if self.branches.doubtful or any(word.plain == "-f" for word in words):
            return
        for word in words:
            for argument in self.expander.expand(word):
                match = re.fullmatch(rf"({NAME})(?:\[(.*)\])?", argument.text)
                if match is None:
                    continue
                try:
                    key = None if match[2] is None else self.expander.key(match[1], match[2])
                    self.variables.forget(match[1], key)
                except ReadonlyError:
                    self.expander.note("readonly", match[1])

    def read(self, words: Sequence[Word]) -> None:
        """`read X` and `mapfile A`: the names stand for values that are not known."""
        command = words[0].plain
        names = [
            word.plain
            for before, word in pairwise(words)
            if re.fullmatch(NAME, word.plain) and not re.fullmatch(rf"-\w*[{READERS[command]}]", before.plain)
        ]
        for name in names:
            self.variables.put(name, "", (f"{command} {name}",), line=words[0].line)
            self.expander.line = words[0].line
            self.expander.note("input", f"{command} {name}")

    def _value(self, found: Assignment) -> Argument | list[Item]:
        if found.items is None:
            return self.expander.text(found.value, found.line)
        items: list[Item] = []
        for word in found.items:
            inner = self._keyed(word)
            if inner is not None:
                items.append(Item(inner.key, inner.adds, self.expander.text(inner.value, word.line)))
            else:
                items += [Item(None, False, argument) for argument in self.expander.expand(word)]
        return items

    def _keyed(self, word: Word) -> Assignment | None:
        """`[key]=value` inside `NAME=( ... )`."""
        if not word.pieces or not _is(word.pieces[0], "["):
            return None
        return assignment(Word(word.line, [Piece("text", "x", False), *word.pieces]), self.expander)

    def _guarded(self, found: Assignment, value: Argument | list[Item]) -> None:
        """Carry an assignment out, unless a first value stands that nobody can choose against."""
        self.expander.line = found.line
        shown = found.left + (value.text if isinstance(value, Argument) else "(...)")
        if self.branches.doubtful:
            kept = not found.adds and self._is_set(found)
            self.expander.note("condition", f"{shown} {'not taken' if kept else 'taken'}")
            if kept:
                return
        try:
            if isinstance(value, Argument):
                self._put(found, value)
            else:
                self._put_items(found, value)
        except ReadonlyError:
            self.expander.note("readonly", shown)

    def _is_set(self, found: Assignment) -> bool:
        name = self.variables.behind(found.name)
        old = self.variables.known.get(name)
        if old is None:
            return False
        if found.key is not None:
            key = self.expander.key(name, found.key)
            return old.items is not None and key in old.items
        return bool(old.items) if old.items is not None else old.value is not None

    def _put(self, found: Assignment, value: Argument) -> None:
        old = self.variables.get(found.name)
        key: int | str | None = None
        if found.key is not None:
            key = self.expander.key(found.name, found.key)
            if key is None:
                return
        elif old is not None and old.items is not None:
            key = "0" if old.is_map else 0
        if old is not None and "i" in old.attributes:
            value = self._summed(self._before(found.name, key) if found.adds else None, value)
        elif found.adds:
            before = self._before(found.name, key)
            value = Argument(before.text + value.text, value.line, (*before.unknown, *value.unknown))
        if key is None:
            self.variables.put(found.name, value.text, value.unknown, line=found.line)
        else:
            self.variables.put_item(found.name, key, value)

    def _summed(self, before: Argument | None, value: Argument) -> Argument:
        """The value of an integer variable (`declare -i`)."""
        if value.unknown or (before is not None and before.unknown):
            return Argument("", value.line, (*(before.unknown if before else ()), *value.unknown))
        text = value.text if before is None else f"({before.text or 0})+({value.text or 0})"
        number = self.expander.number(text, value.line)
        return Argument("" if number is None else str(number), value.line, tuple(self.expander.unknown))

    def _before(self, name: str, key: int | str | None) -> Argument:
        old = self.variables.get(name)
        if old is None:
            return Argument("", 0)
        if old.items is not None:
            return old.items.get(0 if key is None else key, Argument("", 0))
        return Argument(old.value or "", 0, old.unknown)

    def _put_items(self, found: Assignment, values: list[Item]) -> None:
        old = self.variables.get(found.name)
        is_map = old is not None and old.is_map
        items: dict[int | str, Argument] = dict(old.items or {}) if old is not None and found.adds else {}
        if old is not None and found.adds and old.items is None and old.value is not None:
            items[0] = Argument(old.value, found.line, old.unknown)
        at = max((key for key in items if isinstance(key, int)), default=-1) + 1
        bare: list[Argument] = []
        for item in values:
            if item.key is None and is_map:
                bare.append(item.value)
                continue
            key = at if item.key is None else self.expander.key(found.name, item.key)
            if key is None:
                continue
            before = items.get(key, Argument("", 0)) if item.adds else Argument("", 0)
            items[key] = Argument(
                before.text + item.value.text, item.value.line, (*before.unknown, *item.value.unknown)
            )
            at = key + 1 if isinstance(key, int) else at
        items |= {name.text: value for name, value in zip(bare[::2], bare[1::2], strict=False)}
        self.variables.put_items(found.name, items)
