"""Words to arguments: parameters, arrays, maps and arithmetic resolved; what cannot be known is noted with its line.

A value that is not known becomes empty and carries a note, which travels through every variable it is put into.
Nothing is executed: a command substitution is such a value, unless its answer follows from its words alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from orbiter_spec.importing.arithmetic import calculate
from orbiter_spec.importing.expansions import halves, trim
from orbiter_spec.importing.script import Argument, Script, Trap
from orbiter_spec.importing.substitutions import NotKnownError, printed
from orbiter_spec.importing.variables import NAME, POSITIONAL, Variables, in_order
from orbiter_spec.importing.words import Command, Piece, Scanner, Word

PARAMETER = re.compile(
    rf"(?P<length>#(?=[A-Za-z_@*0-9]))?(?P<indirect>!)?(?P<name>{NAME}|\d+|[@*#?$!-])(?:\[(?P<index>[^\]]*)\])?"
    r"(?P<op>:-|:=|:\+|:\?|-|=|\+|\?|##|#|%%|%|//|/|:|\^\^|,,|\^|,|@)?(?P<rest>.*)\Z",
    re.DOTALL,
)
ALL = ("@", "*")


class _UnknownError(Exception):
    """A number that depends on something unknown."""


class Expander:
    """Resolves words over the variables; `traps` of the script hold what could not be resolved.

    `name` is the script's path as bash would be given it, None where there is no file.
    """

    def __init__(self, variables: Variables, script: Script, name: str | None = None) -> None:
        self.variables = variables
        self.script = script
        self.name = name
        self.positional: list[Argument] = []
        self.unknown: list[str] = []
        self.line = 1
        self.depth = 0

    def expand(self, word: Word) -> list[Argument]:
        """The arguments one word becomes: none for an empty unquoted one, several for an array or a list."""
        self.unknown, self.line = [], word.line
        fields = self._fields(word.pieces, word.line)
        unknown = tuple(self.unknown)
        return [Argument(item.text, item.line, tuple(dict.fromkeys((*item.unknown, *unknown)))) for item in fields]

    def text(self, pieces: Sequence[Piece], line: int) -> Argument:
        """A value as an assignment takes it: never split."""
        self.unknown, self.line = [], line
        value = self._text(pieces)
        return Argument(value, line, tuple(dict.fromkeys(self.unknown)))

    def number(self, text: str, line: int) -> int | None:
        """The value of an arithmetic expression; None, with a note, where it is not known."""
        self.unknown, self.line = [], line
        return self._number(text)

    def key(self, name: str, text: str) -> int | str | None:
        """The key that `text` between brackets means for an array or a map; None where it is not known."""
        before = len(self.unknown)
        plain = self._inner(text)
        variable = self.variables.get(name)
        if variable is not None and variable.is_map:
            return plain if len(self.unknown) == before else None
        return self._number(plain)

    def tell(self, what: str, text: str) -> None:
        """Note something that is not known; the word in hand carries it."""
        self.unknown.append(text)
        self.note(what, text)

    def note(self, what: str, text: str) -> None:
        """Note something to look at, once."""
        trap = Trap(self.line, what, text)
        if trap not in self.script.traps:
            self.script.traps.append(trap)

    def _fields(self, pieces: Sequence[Piece], line: int, *, bare: bool = False) -> list[Argument]:
        """The fields that pieces become; with `bare` blanks in unquoted text part them too."""
        fields = [Argument("", line)]
        solid, void = [False], False
        for piece in pieces:
            before = len(self.unknown)
            parts = self._parts(piece)
            if bare and piece.kind == "text" and not piece.quoted:
                parts = _split(parts[0], open_ends=True)
            void = void or (piece.quoted and not parts)
            for number, part in enumerate(parts):
                if number:
                    fields.append(Argument("", part.line))
                    solid.append(False)
                last = fields[-1]
                at = part.line if not last.text else last.line
                fields[-1] = Argument(last.text + part.text, at, (*last.unknown, *part.unknown))
                solid[-1] = solid[-1] or piece.quoted or len(self.unknown) > before or bool(part.unknown)
        if void and not any(item.text for item in fields):
            return []
        return [item for item, kept in zip(fields, solid, strict=True) if item.text or kept]

    def _parts(self, piece: Piece) -> list[Argument]:
        """The parts a piece becomes; more than one only for a list, or for unquoted text with blanks in it."""
        if piece.kind == "text":
            return [Argument(piece.text, self.line)]
        if piece.kind == "variable" and (match := PARAMETER.match(piece.text)) and not match["length"]:
            items = self._alternative(match, piece.quoted)
            if items is not None:
                return items
            items = self._list(match, piece)
            if items is not None:
                return items if piece.quoted else _split_all(items)
        value = Argument(self._piece(piece), self.line)
        return [value] if piece.quoted else _split(value, open_ends=True)

    def _list(self, match: re.Match[str], piece: Piece) -> list[Argument] | None:
        """The items of `$@`, `${A[@]}` and their slices and edits; None for anything that is one value."""
        operator, rest = match["op"] or "", match["rest"]
        items = None if piece.quoted and "*" in (match["index"], match["name"]) else self._items(match)
        if items is None or not operator:
            return items
        if operator == ":":
            return self._slice(items, rest, piece.text, positional=match["name"] in ALL)
        return [
            Argument(self._edited(item.text, operator, rest, piece.text), item.line, item.unknown) for item in items
        ]

    def _alternative(self, match: re.Match[str], quoted: bool) -> list[Argument] | None:
        """`${A[@]+"${A[@]}"}` and the like: another word, which may be a list itself; None where all is one value."""
        operator, rest = match["op"] or "", match["rest"]
        items = self._items(match)
        if operator not in (":-", "-", ":+", "+") or (items is None and "@" not in rest):
            return None
        if items is None:
            value = self._value(match["name"], match["index"])
            items = [] if value is None else [Argument(value, self.line)]
        there = any(item.text for item in items) if operator.startswith(":") else bool(items)
        if there == operator.endswith("+"):
            return self._fields(_pieces(rest, quoted), self.line, bare=True)
        if quoted:
            return items or ([] if match["index"] in ALL else [Argument("", self.line)])
        return _split_all(items)

    def _items(self, match: re.Match[str]) -> list[Argument] | None:
        name, index = match["name"], match["index"]
        if name in ALL:
            self.variables.read.add(POSITIONAL)
            return list(self.positional)
        if index not in ALL:
            return None
        variable = self.variables.get(name)
        if variable is None or variable.items is None:
            value = self._value(name, None)
            return [] if value is None else [Argument("0" if match["indirect"] else value, self.line)]
        if variable.is_map and len(variable.items) > 1:
            self.note("order", f"{name}[{index}]")
        pairs = in_order(variable.items)
        return [Argument(str(key), item.line) for key, item in pairs] if match["indirect"] else [v for _, v in pairs]

    def _slice(self, items: list[Argument], rest: str, text: str, *, positional: bool) -> list[Argument]:
        bounds = self._bounds(rest)
        if bounds is None:
            self.tell("expansion", f"${{{text}}}")
            return items
        start, length = bounds
        if positional:
            items = [Argument(self.name or "bash", self.line), *items]
        start = max(start + len(items), 0) if start < 0 else start
        return items[start:] if length is None else items[start : start + max(length, 0)]

    def _bounds(self, rest: str) -> tuple[int, int | None] | None:
        start_text, colon, length_text = rest.partition(":")
        try:
            start = self._calculated(start_text)
            return start, self._calculated(length_text) if colon else None
        except (ValueError, _UnknownError):
            return None

    def _text(self, pieces: Sequence[Piece]) -> str:
        return "".join(self._piece(piece) for piece in pieces)

    def _piece(self, piece: Piece) -> str:
        if piece.kind == "text":
            return piece.text
        if piece.kind == "variable":
            return self._parameter(piece.text)
        if piece.kind == "arithmetic":
            value = self._number(piece.text)
            return "" if value is None else str(value)
        return self._substituted(piece.text)

    def _substituted(self, text: str) -> str:
        """What a command substitution prints, where its words alone say that."""
        unknown, line = self.unknown, self.line
        answer = None
        try:
            commands = Scanner(text, line).commands()
            answer = printed(commands, self._known_words, self.variables.plain("PWD"), self.variables.plain("HOME"))
        except NotKnownError:
            pass
        self.unknown, self.line = unknown, line
        if answer is None:
            self.tell("substitution", f"$({text.strip()})")
        return answer or ""

    def _known_words(self, command: Command) -> list[str]:
        arguments = [argument for word in command.words for argument in self.expand(word)]
        if any(argument.unknown for argument in arguments):
            raise NotKnownError(command)
        return [argument.text for argument in arguments]

    def _number(self, text: str) -> int | None:
        try:
            return self._calculated(text)
        except _UnknownError:
            return None
        except ValueError:
            self.tell("arithmetic", f"$(({text}))")
            return None

    def _calculated(self, text: str) -> int:
        before = len(self.unknown)
        expanded = self._inner(text)
        if len(self.unknown) > before:
            raise _UnknownError
        return calculate(expanded, self)

    def number_text(self, name: str, index: str | None, *, assigns: bool) -> str:
        """A variable as arithmetic reads it; an unset one is unknown unless a value follows, when it counts as 0."""
        before = len(self.unknown)
        value = self._value(name, index)
        if len(self.unknown) > before:
            raise _UnknownError
        if value is None and not assigns:
            self.tell("variable", name)
            raise _UnknownError
        return value or "0"

    def put_number(self, name: str, index: str | None, value: int) -> None:
        """A variable as arithmetic writes it."""
        key = None if index is None else self.key(name, index)
        if key is None:
            self.variables.put(name, str(value), (), line=self.line)
        else:
            self.variables.put_item(name, key, Argument(str(value), self.line))

    def _value(self, name: str, index: str | None) -> str | None:
        """One value, its notes taken over; None where it is not set."""
        if name == "#":
            return str(len(self.positional))
        if name == "0":
            return self.name
        if name in ALL or name.isdigit():
            self.variables.read.add(POSITIONAL)
        if name in ALL:
            return self._joined(self.positional, name) if self.positional else None
        if name.isdigit():
            return self._take(self.positional[int(name) - 1] if 0 < int(name) <= len(self.positional) else None)
        variable = self.variables.get(name)
        if variable is None:
            return None
        if variable.items is None:
            if index not in (None, "", "0", *ALL):
                return None
            self.unknown += variable.unknown
            return variable.value
        if index in ALL:
            return self._joined([item for _, item in in_order(variable.items)], index or "@")
        key = self.key(name, index or "0")
        if isinstance(key, int) and key < 0:
            key += 1 + max((at for at in variable.items if isinstance(at, int)), default=-1)
        return None if key is None else self._take(variable.items.get(key))

    def _take(self, item: Argument | None) -> str | None:
        if item is None:
            return None
        self.unknown += item.unknown
        return item.text

    def _joined(self, items: Sequence[Argument], sign: str) -> str:
        separators = self.variables.get("IFS")
        between = " " if sign == "@" or separators is None or separators.value is None else separators.value[:1]
        return between.join(self._take(item) or "" for item in items)

    def _parameter(self, text: str) -> str:
        match = PARAMETER.match(text)
        if match is None:
            self.tell("expansion", f"${{{text}}}")
            return ""
        if match["length"]:
            return self._length(match)
        if match["indirect"] and match["index"] in ALL:
            return self._joined(self._items(match) or [], match["index"])
        value = self._value(match["name"], match["index"])
        if match["indirect"] and value is not None:
            value = self._value(value, None) if re.fullmatch(NAME, value) else None
        operator, rest = match["op"] or "", match["rest"]
        if operator in (":-", "-", ":=", "=", ":?", "?"):
            return self._default(match["name"], value, operator, rest)
        if operator in (":+", "+"):
            return self._inner(rest) if value or (value is not None and operator == "+") else ""
        if value is None:
            if match["name"] not in (*ALL, "#") and match["index"] not in ALL:
                self.tell("variable", match["name"])
            return ""
        return self._edited(value, operator, rest, text)

    def _length(self, match: re.Match[str]) -> str:
        if match["index"] in ALL or match["name"] in ALL:
            return str(len(self._items(match) or []))
        return str(len(self._value(match["name"], match["index"]) or ""))

    def _default(self, name: str, value: str | None, operator: str, rest: str) -> str:
        if value or (value is not None and not operator.startswith(":")):
            return value
        if operator in (":?", "?"):
            self.tell("variable", name)
            return ""
        default = self._inner(rest)
        if operator.endswith("=") and re.fullmatch(NAME, name):
            self.variables.put(name, default, tuple(self.unknown), line=self.line)
        return default

    def _edited(self, value: str, operator: str, rest: str, text: str) -> str:
        if not operator and not rest:
            return value
        if operator in ("//", "/"):
            return self._replaced(value, operator, rest)
        if operator in CASES and not rest:
            return CASES[operator](value)
        if operator in ("##", "#", "%%", "%") and "[" not in rest and "?" not in rest:
            return trim(value, operator, self._inner(rest))
        bounds = self._bounds(rest) if operator == ":" else None
        if bounds is None:
            self.tell("expansion", f"${{{text}}}")
            return value
        start, length = bounds
        start = start + len(value) if start < 0 else start
        end = len(value) if length is None else length + (len(value) if length < 0 else start)
        return value[start:end] if start >= 0 else ""

    def _replaced(self, value: str, operator: str, rest: str) -> str:
        old, new = halves(rest)
        wanted, put = self._inner(old), self._inner(new)
        if operator == "/" and wanted[:1] in ("#", "%"):
            side, wanted = wanted[0], wanted[1:]
            if side == "#":
                return put + value[len(wanted) :] if value.startswith(wanted) else value
            return value[: len(value) - len(wanted)] + put if value.endswith(wanted) else value
        return value.replace(wanted, put, -1 if operator == "//" else 1) if wanted else value

    def _inner(self, text: str) -> str:
        """A word inside an expansion, such as the default in `${X:-$HOME/data}`."""
        if not re.search(r"[$`'\"\\]", text):
            return text
        return self._text(_pieces(text, quoted=False))


def _pieces(text: str, quoted: bool) -> list[Piece]:
    scanner = Scanner(text)
    word = Word(1)
    while scanner.at < len(text):
        scanner.piece(word)
    if not quoted:
        return word.pieces
    return [Piece(piece.kind, piece.text, True) for piece in word.pieces if piece.text or piece.kind != "text"]


def _split(value: Argument, *, open_ends: bool = False) -> list[Argument]:
    """Text at its blanks; with `open_ends` a blank at an end keeps what stands beside it apart."""
    parts = value.text.split()
    if open_ends and value.text:
        parts = [""] * value.text[0].isspace() + parts + [""] * value.text[-1].isspace()
    if not parts and (open_ends or value.unknown):
        parts = [""]
    return [Argument(part, value.line, value.unknown) for part in parts]


def _split_all(items: Sequence[Argument]) -> list[Argument]:
    return [part for item in items for part in _split(item)]


def _first(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda value: change(value[:1]) + value[1:]


CASES: Mapping[str, Callable[[str], str]] = {
    "^^": str.upper,
    ",,": str.lower,
    "^": _first(str.upper),
    ",": _first(str.lower),
}
