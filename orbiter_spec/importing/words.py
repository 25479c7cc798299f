"""Shell text to words, without a shell.

`shlex` drops the difference between '$X' and "$X" and knows no `$( )`; bashlex (GPL, last release years old) parses
all of bash to answer a much smaller question. What a launch script needs is small: quotes, expansions,
continuations, the operators that end a command. A word keeps its pieces, so that a later step can resolve variables
and say where it could not. Nothing here or later ever runs a word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

ARITHMETIC = "(("
OPERATORS = ("&&", "||", ";;", "|&", ";", "|", "&", "(", ")", "\n")
BEFORE_ARITHMETIC = ("if", "elif", "while", "until", "for", "then", "else", "do", "{", "!", "time")
KEYED = re.compile(r"(?:[A-Za-z_]\w*)?\[[^]\n]*\]\+?=")
"""The head of `NAME[a key]=value`, the only unquoted words that may hold blanks."""
ANSI = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
REDIRECTIONS = ("&>>", "<<<", "<<-", "&>", ">>", ">&", "<&", "<<", ">|", "<>", ">", "<")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a word: plain text, or an expansion (`variable`, `command`, `arithmetic`) with its inner text."""

    kind: str
    text: str
    quoted: bool


@dataclass(slots=True)
class Word:
    """One word and the line it starts on; `array` holds the words of `NAME=( ... )`."""

    line: int
    pieces: list[Piece] = field(default_factory=list)
    array: list[Word] | None = None

    @property
    def plain(self) -> str:
        """The word's literal text; expansions are left out."""
        return "".join(piece.text for piece in self.pieces if piece.kind == "text")


@dataclass(frozen=True, slots=True)
class Body:
    """The text of a here-document and the line it starts on."""

    text: str
    line: int


@dataclass(slots=True)
class Command:
    """The words between two operators, the operator that ends them, and the here-documents it is given."""

    words: list[Word] = field(default_factory=list)
    end: str = ""
    redirected: bool = False
    bodies: list[Body] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Function:
    """A function's name and commands; `end` is where the script goes on."""

    name: str
    body: list[Command]
    end: int


def function_at(commands: Sequence[Command], at: int) -> Function | None:
    """The function that is defined at `at`, in either of bash's ways, or None."""
    words = [word.plain for word in commands[at].words]
    keyword = words[:1] == ["function"]
    name = words[1] if keyword and len(words) > 1 else words[0] if words else ""
    start = at
    if commands[at].end == "(" and len(words) == 1 + keyword:
        if at + 2 >= len(commands) or commands[at + 1].words or commands[at + 1].end != ")":
            return None
        start, skipped = at + 2, 0
    elif keyword:
        skipped = 2
    else:
        return None
    first = commands[start].words[skipped:]
    if not first or first[0].plain != "{":
        return None
    body = [Command(first[1:], commands[start].end, commands[start].redirected, commands[start].bodies)]
    depth = 1
    for index in range(start + 1, len(commands)):
        opening = commands[index].words[0].plain if commands[index].words else ""
        depth += {"{": 1, "}": -1}.get(opening, 0)
        if depth == 0:
            return Function(name, [command for command in body if command.words or command.end], index + 1)
        body.append(commands[index])
    return None


class Scanner:
    """Reads commands from `text`; `line` counts from one."""

    def __init__(self, text: str, line: int = 1) -> None:
        self.text = text
        self.at = 0
        self.line = line
        self.heredocs: list[str] = []

    def commands(self) -> list[Command]:
        """Every command of the text, in order."""
        found: list[Command] = []
        current = Command()
        while self.at < len(self.text):
            self._blanks()
            if self._arithmetic(current):
                continue
            operator = self._take(OPERATORS)
            if operator is not None:
                current.end = operator
                if current.words or operator in ("(", ")"):
                    found.append(current)
                current = Command()
                if operator == "\n":
                    self.line += 1
                    bodies = self._heredocs()
                    if found:
                        found[-1].bodies += bodies
            elif self._redirection():
                current.redirected = True
            elif self.at < len(self.text):
                current.words.append(self.word())
        return [*found, current] if current.words else found

    def _arithmetic(self, command: Command) -> bool:
        """Take `(( ... ))` where a command or the head of a loop may stand, as the word `((` and one quoted word."""
        before = [word.plain for word in command.words]
        if not self.text.startswith(ARITHMETIC, self.at) or not all(word in BEFORE_ARITHMETIC for word in before):
            return False
        line, end = self.line, self._closing(ARITHMETIC, "))")
        if self.text[end - 2 : end] != "))":
            return False
        inner = Scanner(self.text[self.at + 2 : end - 2], line)
        word = Word(line)
        while inner.at < len(inner.text):
            inner.piece(word)
        pieces = [Piece(piece.kind, piece.text, True) for piece in word.pieces]
        command.words += [Word(line, [Piece("text", ARITHMETIC, False)]), Word(line, pieces)]
        self.line += self.text[self.at : end].count("\n")
        self.at = end
        return True

    def word(self) -> Word:
        """The word that starts here."""
        word = Word(self.line)
        keyed = KEYED.match(self.text, self.at)
        while self.at < len(self.text):
            character = self.text[self.at]
            if keyed is not None and self.at < keyed.end():
                self.piece(word)
                continue
            if character in " \t\n;|&<>)" or (character == "(" and not self._opens_array(word)):
                break
            if character == "(":
                self.at += 1
                word.array = self._array()
                break
            self.piece(word)
        if not word.pieces and word.array is None:
            word.pieces.append(Piece("text", "", True))
            if self.at < len(self.text) and self.text[self.at] == "(":
                self.at += 1
        return word

    def _opens_array(self, word: Word) -> bool:
        return word.plain.endswith("=") and not any(piece.quoted for piece in word.pieces)

    def _array(self) -> list[Word]:
        items: list[Word] = []
        while self.at < len(self.text):
            self._blanks(newlines=True)
            if self.at >= len(self.text) or self.text[self.at] == ")":
                break
            before = self.at
            items.append(self.word())
            if self.at == before:
                self.at += 1
        self.at += 1
        return items

    def piece(self, word: Word) -> None:
        """Read the next piece of `word`: quotes, an expansion, or one character."""
        character = self.text[self.at]
        if character == "\\":
            self._escape(word, quoted=False)
        elif character == "'":
            self._single(word)
        elif self.text.startswith("$'", self.at):
            self._ansi(word)
        elif character == '"' or self.text.startswith('$"', self.at):
            self.at += 1 if character == '"' else 2
            self._double(word)
        elif character == "$":
            word.pieces.append(self._expansion(quoted=False))
        elif character == "`":
            word.pieces.append(self._backticks(quoted=False))
        else:
            word.pieces.append(Piece("text", character, False))
            self.at += 1

    def _escape(self, word: Word, *, quoted: bool) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if following == "\n":
            self.line += 1
        elif quoted and following not in '$`"\\':
            word.pieces.append(Piece("text", "\\" + following, True))
        else:
            word.pieces.append(Piece("text", following, True))

    def _single(self, word: Word) -> None:
        end = self.text.find("'", self.at + 1)
        end = len(self.text) if end < 0 else end
        inner = self.text[self.at + 1 : end]
        self.line += inner.count("\n")
        self.at = end + 1
        word.pieces.append(Piece("text", inner, True))

    def _ansi(self, word: Word) -> None:
        """`$'...'`, in which backslashes mean what they mean in C."""
        found = ANSI.match(self.text, self.at)
        inner = found[1] if found else self.text[self.at + 2 :]
        self.line += inner.count("\n")
        self.at = found.end() if found else len(self.text)
        word.pieces.append(Piece("text", re.sub(r"\\(.)", lambda sign: ESCAPES.get(sign[1], sign[0]), inner), True))

    def _double(self, word: Word) -> None:
        word.pieces.append(Piece("text", "", True))
        while self.at < len(self.text) and self.text[self.at] != '"':
            character = self.text[self.at]
            if character == "\\":
                self._escape(word, quoted=True)
            elif character == "$":
                word.pieces.append(self._expansion(quoted=True))
            elif character == "`":
                word.pieces.append(self._backticks(quoted=True))
            else:
                self.line += character == "\n"
                word.pieces.append(Piece("text", character, True))
                self.at += 1
        self.at += 1

    def _expansion(self, *, quoted: bool) -> Piece:
        for opening, closing, kind in (("$((", "))", "arithmetic"), ("$(", ")", "command"), ("${", "}", "variable")):
            if self.text.startswith(opening, self.at):
                return Piece(kind, self._inside(opening, closing), quoted)
        start = self.at + 1
        end = start
        while end < len(self.text) and (self.text[end].isalnum() or self.text[end] == "_"):
            end += 1
        first = self.text[start : start + 1]
        if first.isdigit() or (end == start and first in ("@", "*", "#", "?", "$", "!", "-")):
            end = start + 1
        self.at = end if end > start else start
        return Piece("variable", self.text[start:end], quoted) if end > start else Piece("text", "$", quoted)

    def _inside(self, opening: str, closing: str) -> str:
        """The text up to the bracket that closes `opening`, brackets inside it counted."""
        end = self._closing(opening, closing)
        inner = self.text[self.at + len(opening) : end - len(closing)]
        self.line += self.text[self.at : end].count("\n")
        self.at = end
        return inner

    def _closing(self, opening: str, closing: str) -> int:
        """Where the text after the bracket begins that closes `opening`, which stands here."""
        at = self.at + len(opening)
        opens, closes = opening[-1], closing[-1]
        depth = len(closing)
        while at < len(self.text):
            character = self.text[at]
            if character == "\\":
                at += 1
            elif character == opens:
                depth += 1
            elif character == closes:
                depth -= 1
                if depth == 0:
                    break
            at += 1
        return at + 1

    def _backticks(self, *, quoted: bool) -> Piece:
        end = self.text.find("`", self.at + 1)
        end = len(self.text) if end < 0 else end
        inner = self.text[self.at + 1 : end]
        self.line += inner.count("\n")
        self.at = end + 1
        return Piece("command", inner, quoted)

    def _blanks(self, *, newlines: bool = False) -> None:
        """Skip blanks, continuations and comments."""
        while self.at < len(self.text):
            if self.text.startswith("\\\n", self.at):
                self.at += 2
                self.line += 1
            elif self.text[self.at] in " \t" or (newlines and self.text[self.at] == "\n"):
                self.line += self.text[self.at] == "\n"
                self.at += 1
            elif self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def _take(self, tokens: tuple[str, ...]) -> str | None:
        if self.text.startswith("&>", self.at):
            return None
        for token in tokens:
            if self.text.startswith(token, self.at):
                self.at += len(token)
                return token
        return None

    def _redirection(self) -> bool:
        """Skip `2>&1`, `> file` and the like; a here-document's body is skipped at the end of the line."""
        start = self.at
        while self.at < len(self.text) and self.text[self.at].isdigit():
            self.at += 1
        token = next((token for token in REDIRECTIONS if self.text.startswith(token, self.at)), None)
        if token is None:
            self.at = start
            return False
        self.at += len(token)
        self._blanks()
        target = self.word() if self.at < len(self.text) and self.text[self.at] not in "\n;|&" else Word(self.line)
        if token in ("<<", "<<-"):
            self.heredocs.append(target.plain)
        return True

    def _heredocs(self) -> list[Body]:
        bodies = []
        while self.heredocs:
            mark = self.heredocs.pop(0)
            start, line = self.at, self.line
            end = self.at
            while self.at < len(self.text):
                end = self.at
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                text = self.text[self.at : stop]
                self.at = min(stop + 1, len(self.text))
                self.line += 1
                if text.strip() == mark:
                    break
            bodies.append(Body(self.text[start:end], line))
        return bodies


def scan(text: str) -> list[Command]:
    """The commands of `text`."""
    return Scanner(text).commands()
