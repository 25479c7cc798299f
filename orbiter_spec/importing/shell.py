"""A launch script followed as far as values go: assignments, defaults, arrays, `$@`. Nothing is ever executed.

What only a running shell could know (command substitution, what a command answers) is reported with its line: a value
that cannot be known becomes empty, and of two branches that nobody can choose from the first assignment stands. Tests
of values are decided, functions are followed where they are called, and so is what another shell is given to run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from orbiter_spec.importing.branches import TESTS, Branches, truth
from orbiter_spec.importing.expansions import calculate, halves, trim
from orbiter_spec.importing.script import Argument, Launch, Script, Trap
from orbiter_spec.importing.words import Body, Command, Piece, Scanner, Word, function_at, scan

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
ASSIGNMENT = re.compile(rf"({NAME})(?:\[(\w+)\])?(\+?)=")
PARAMETER = re.compile(
    rf"(?P<length>#)?(?P<indirect>!)?(?P<name>{NAME}|[@*#?$!0-9-])(?:\[(?P<index>[^\]]*)\])?"
    r"(?P<op>:-|:=|:\+|:\?|-|=|\+|\?|##|#|%%|%|//|/|:|\^\^|,,|@)?(?P<rest>.*)\Z",
    re.DOTALL,
)
ENTRY = re.compile(r"(?:^|[./\\])(main_[a-z_]*|[a-z_]*sft[a-z_]*trainer[a-z_]*)(?:\.py)?$")
DECLARATIONS = ("export", "local", "declare", "readonly", "typeset")
OPENERS = ("if", "while", "until", "for", "case", "select")
CLOSERS = ("fi", "done", "esac")
TURNS = ("then", "elif", "else")
KEYWORDS = ("do", "in", "{", "}", "!", "time", "function")
SHELLS = ("bash", "sh", "zsh", "ssh", "srun", "sbatch", "docker", "podman", "kubectl", "eval", "su", "sudo", "tmux")
MAIN = re.compile(r"\bmain_[a-z_]+")
MOST_STEPS = 200_000


def follow(text: str, environ: Mapping[str, str]) -> Script:
    """Every launch of the script; `environ` stands for the shell's environment.

    Raises RecursionError for a script whose functions call each other without an end.
    """
    follower = _Follower(environ)
    follower.run(scan(text))
    follower.look_elsewhere()
    return follower.script


class _Follower:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self.script = Script()
        self.values: dict[str, str] = {}
        self.arrays: dict[str, list[Argument]] = {"@": []}
        self.tainted: dict[str, tuple[str, ...]] = {}
        self.environ = environ
        self.branches = Branches()
        self.functions: dict[str, list[Command]] = {}
        self.called: set[str] = set()
        self.written: list[Body] = []
        self.steps = 0
        self.unknown: list[str] = []
        self.line = 1

    def run(self, commands: Sequence[Command]) -> None:
        """Follow commands; a function is kept until it is called."""
        at = 0
        while at < len(commands):
            found = function_at(commands, at)
            if found is not None and found.body:
                self.functions[found.name] = found.body
                at = found.end
                continue
            self.command(commands[at])
            at += 1

    def look_elsewhere(self) -> None:
        """Where nothing was launched, what nobody called and what was written to a file may be meant."""
        for name in [name for name in self.functions if name not in self.called]:
            if not self.script.launches:
                self.run(self.functions[name])
        for body in self.written:
            if not self.script.launches and MAIN.search(body.text):
                self.run(Scanner(body.text, body.line).commands())

    def command(self, command: Command) -> None:
        """Follow one command where the branches around it are not known to be left out."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise RecursionError("too many steps")
        words = self._strip_keywords(list(command.words))
        if not words:
            self.branches.done(None, command.end)
        elif self.branches.runs():
            self.branches.done(self._simple(words, command), command.end)
        else:
            self.branches.passed(command.end)

    def _simple(self, words: list[Word], command: Command) -> bool | None:
        """Follow a command without keywords; whether it succeeds, where that is known."""
        if words[0].plain in DECLARATIONS:
            for word in words[1:]:
                if not word.plain.startswith("-"):
                    self._assign(word)
            return True
        assigned = 0
        while assigned < len(words) and self._is_assignment(words[assigned]):
            assigned += 1
        rest = words[assigned:]
        if not rest:
            for word in words:
                self._assign(word)
            return True
        name = rest[0].plain
        if name in TESTS:
            return truth([argument for word in rest for argument in self._expand(word)])
        if name == "set" and any(word.plain == "--" for word in rest):
            mark = next(index for index, word in enumerate(rest) if word.plain == "--")
            self.arrays["@"] = [argument for word in rest[mark + 1 :] for argument in self._expand(word)]
        elif name == "shift":
            count = rest[1].plain if len(rest) > 1 else "1"
            self.arrays["@"] = self.arrays["@"][int(count) if count.isdigit() else 1 :]
        elif name in self.functions:
            self._call(name, [argument for word in rest[1:] for argument in self._expand(word)])
        else:
            self._launch(rest, command)
        return None

    def _call(self, name: str, arguments: list[Argument]) -> None:
        outer, self.arrays["@"] = self.arrays["@"], arguments
        self.called.add(name)
        self.run(self.functions[name])
        self.arrays["@"] = outer

    def _strip_keywords(self, words: list[Word]) -> list[Word]:
        while words:
            first = words[0].plain
            if first in OPENERS:
                self.branches.open(first)
                if first in ("for", "select"):
                    self._loop(words)
                if first in ("case", "for", "select"):
                    return []
            elif first in TURNS:
                self.branches.turn(first)
            elif first in CLOSERS:
                self.branches.close()
            elif first == "!" and len(words) > 1:
                self.branches.negate()
            elif first not in KEYWORDS:
                return words
            words = words[1:]
        return words

    def _loop(self, words: list[Word]) -> None:
        """The first value of a loop stands for all."""
        names = [word.plain for word in words]
        if len(words) > 3 and names[2] == "in":
            first = self._expand(words[3])
            self.values.setdefault(names[1], first[0].text if first else "")
            if len(words) > 4:
                self.script.traps.append(Trap(words[0].line, "loop", f"{names[1]} takes its first value only"))

    def _is_assignment(self, word: Word) -> bool:
        first = word.pieces[0] if word.pieces else None
        return (
            first is not None and not first.quoted and ASSIGNMENT.match(word.plain) is not None and _name_is_bare(word)
        )

    def _assign(self, word: Word) -> None:
        match = ASSIGNMENT.match(word.plain)
        if match is None or not _name_is_bare(word):
            return
        name, adds = match[1], bool(match[3])
        if word.array is not None:
            if self.branches.doubtful:
                kept = name in self.arrays and not adds
                taken = "not taken" if kept else "taken"
                self.script.traps.append(Trap(word.line, "condition", f"{name}{match[3]}=(...) {taken}"))
                if kept:
                    return
            items = [argument for item in word.array for argument in self._expand(item)]
            self.arrays[name] = [*self.arrays.get(name, []), *items] if adds else items
            return
        self.unknown = []
        self.line = word.line
        value = self._text(_after(word, match.end()))
        if self.branches.doubtful and name in self.values and not adds:
            self.script.traps.append(Trap(word.line, "condition", f"{name}={value} not taken"))
            return
        if self.branches.doubtful:
            self.script.traps.append(Trap(word.line, "condition", f"{name}={value} taken"))
        if name in self.arrays and adds:
            self.arrays[name].append(Argument(value, word.line, tuple(self.unknown)))
        else:
            self.tainted[name] = tuple(self.unknown)
            self.values[name] = self.values.get(name, "") + value if adds else value

    def _launch(self, words: list[Word], command: Command) -> None:
        arguments = [argument for word in words for argument in self._expand(word)]
        for index, argument in enumerate(arguments):
            found = ENTRY.search(argument.text)
            if found and "=" not in argument.text and self._runs(arguments[:index]):
                self._note_end(command, argument.line)
                self.script.launches.append(Launch(found[1], argument.line, tuple(arguments[index + 1 :])))
                return
        if arguments:
            self.script.traps.append(Trap(words[0].line, "command", arguments[0].text))
            self._inside(arguments, command)

    def _inside(self, arguments: list[Argument], command: Command) -> None:
        """Follow what another shell is given to run: `bash -c "..."`, `ssh host <<EOF`."""
        if arguments[0].text.rpartition("/")[2] not in SHELLS:
            self.written += command.bodies
            return
        for argument in arguments[1:]:
            if re.search(r"\s", argument.text) and MAIN.search(argument.text):
                self.run(Scanner(argument.text, argument.line).commands())
        for body in command.bodies:
            self.run(Scanner(body.text, body.line).commands())

    def _runs(self, before: Sequence[Argument]) -> bool:
        """True when the words before an entry are those of something that runs Python."""
        texts = [argument.text for argument in before]
        if not texts or texts[-1] == "-m":
            return True
        runners = ("python", "torchrun", "ray", "uv", "accelerate", "nohup", "srun", "bash", "sh", "exec", "docker")
        return any(text.rpartition("/")[2].startswith(runners) for text in texts)

    def _note_end(self, command: Command, line: int) -> None:
        if command.end == "&":
            self.script.traps.append(Trap(line, "background", "&"))
        if command.end == "|":
            self.script.traps.append(Trap(line, "pipe", "|"))
        if command.redirected:
            self.script.traps.append(Trap(line, "redirection", ">"))

    def _expand(self, word: Word) -> list[Argument]:
        """The arguments one word becomes: none for an empty unquoted one, several for an array or a list."""
        self.unknown, self.line = [], word.line
        spread = self._spread(word)
        if spread is not None:
            return spread
        texts = [""]
        quoted = any(piece.quoted for piece in word.pieces)
        for piece in word.pieces:
            value = self._piece(piece)
            if piece.kind == "text" or piece.quoted or not re.search(r"\s", value):
                texts[-1] += value
                continue
            parts = value.split()
            texts[-1] += parts[0] if parts else ""
            texts += parts[1:]
        unknown = tuple(self.unknown)
        return [Argument(text, word.line, unknown) for text in texts if text or quoted or unknown]

    def _spread(self, word: Word) -> list[Argument] | None:
        """The items of a word that is one whole array: `"${A[@]}"` or `"$@"`."""
        pieces = [piece for piece in word.pieces if piece.text or piece.kind != "text"]
        if len(pieces) != 1 or pieces[0].kind != "variable":
            return None
        match = PARAMETER.match(pieces[0].text)
        if match is None or match["op"] or match["length"]:
            return None
        if match["name"] in ("@", "*"):
            return list(self.arrays["@"])
        if match["index"] in ("@", "*"):
            return list(self.arrays.get(match["name"], []))
        return None

    def _text(self, pieces: Sequence[Piece]) -> str:
        return "".join(self._piece(piece) for piece in pieces)

    def _piece(self, piece: Piece) -> str:
        if piece.kind == "text":
            return piece.text
        if piece.kind == "variable":
            return self._parameter(piece.text)
        if piece.kind == "arithmetic":
            return self._arithmetic(piece.text)
        self._unknown("substitution", f"$({piece.text.strip()})")
        return ""

    def _unknown(self, what: str, text: str) -> None:
        self.unknown.append(text)
        trap = Trap(self.line, what, text)
        if trap not in self.script.traps:
            self.script.traps.append(trap)

    def _lookup(self, name: str, index: str | None) -> str | None:
        if index is not None or name in self.arrays:
            items = self.arrays.get(name, [])
            if index in ("@", "*"):
                return " ".join(item.text for item in items)
            position = int(index) if index and index.isdigit() else 0
            if name in self.arrays:
                return items[position].text if position < len(items) else None
        if name == "#":
            return str(len(self.arrays["@"]))
        if name in ("@", "*"):
            return " ".join(item.text for item in self.arrays["@"])
        if name.isdigit():
            items = self.arrays["@"]
            position = int(name) - 1
            return items[position].text if 0 <= position < len(items) else None
        self.unknown += self.tainted.get(name, ())
        return self.values.get(name, self.environ.get(name))

    def _parameter(self, text: str) -> str:
        match = PARAMETER.match(text)
        if match is None:
            self._unknown("expansion", f"${{{text}}}")
            return ""
        value = self._lookup(match["name"], match["index"])
        if match["indirect"] and value is not None:
            value = self._lookup(value, None) if re.fullmatch(NAME, value) else None
        if match["length"]:
            return str(len(value or ""))
        operator, rest = match["op"] or "", match["rest"]
        if operator in (":-", "-", ":=", "=", ":?", "?"):
            missing = not value if operator.startswith(":") else value is None
            if not missing:
                return value or ""
            if operator in (":?", "?"):
                self._unknown("variable", match["name"])
                return ""
            default = self._inner(rest)
            if operator.endswith("="):
                self.values[match["name"]] = default
            return default
        if operator in (":+", "+"):
            return self._inner(rest) if value else ""
        if value is None:
            if match["name"] not in ("@", "*", "#"):
                self._unknown("variable", match["name"])
            return ""
        return self._edited(value, operator, rest, text)

    def _edited(self, value: str, operator: str, rest: str, text: str) -> str:
        if not operator:
            return value
        if operator in ("//", "/"):
            old, new = halves(rest)
            wanted = self._inner(old)
            return value.replace(wanted, self._inner(new), -1 if operator == "//" else 1) if wanted else value
        if operator in ("^^", ",,"):
            return value.upper() if operator == "^^" else value.lower()
        if operator in ("##", "#", "%%", "%") and "[" not in rest and "?" not in rest:
            return trim(value, operator, self._inner(rest))
        if operator == ":" and re.fullmatch(r"\d+(:\d+)?", rest):
            start, _, length = rest.partition(":")
            return value[int(start) :][: int(length)] if length else value[int(start) :]
        self._unknown("expansion", f"${{{text}}}")
        return value

    def _inner(self, text: str) -> str:
        """A word inside an expansion, such as the default in `${X:-$HOME/data}`."""
        if not re.search(r"[$`'\"\\]", text):
            return text
        scanner = Scanner(text)
        pieces: list[Piece] = []
        while scanner.at < len(text):
            word = Word(self.line)
            scanner.piece(word)
            pieces += word.pieces
        return self._text(pieces)

    def _arithmetic(self, text: str) -> str:
        expanded = re.sub(rf"\$?\{{?({NAME})\}}?", lambda found: self._lookup(found[1], None) or "0", text)
        value = calculate(expanded)
        if value is None:
            self._unknown("arithmetic", f"$(({text}))")
            return ""
        return str(value)


def _name_is_bare(word: Word) -> bool:
    """True when the name and the sign before the value are unquoted text."""
    name = ""
    for piece in word.pieces:
        if piece.kind != "text" or piece.quoted:
            return False
        name += piece.text
        if "=" in name:
            return True
    return False


def _after(word: Word, end: int) -> list[Piece]:
    """The pieces after the first `end` literal characters."""
    rest: list[Piece] = []
    left = end
    for piece in word.pieces:
        if left and piece.kind == "text":
            kept = piece.text[left:]
            left = max(0, left - len(piece.text))
            if kept:
                rest.append(Piece("text", kept, piece.quoted))
        else:
            rest.append(piece)
    return rest
