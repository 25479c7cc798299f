"""A launch script followed as far as values go: assignments, defaults, arrays, `$@`. Nothing is ever executed.

What only a running shell could know (most command substitutions, what a command answers) is reported with its line: a
value that cannot be known becomes empty, and of two branches that nobody can choose from the first assignment stands.
Tests of values are decided, functions are followed where they are called, and so is what another shell is given to run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from orbiter_spec.importing.branches import TESTS, Branches, truth
from orbiter_spec.importing.declarations import DECLARATIONS, READERS, Assignment, Declarations, assignment
from orbiter_spec.importing.expander import Expander
from orbiter_spec.importing.script import Argument, Launch, Script, Trap
from orbiter_spec.importing.substitutions import NotKnownError, entered
from orbiter_spec.importing.variables import POSITIONAL, Variable, Variables
from orbiter_spec.importing.words import ARITHMETIC, Body, Command, Scanner, Word, function_at, scan

ENTRY = re.compile(r"(?:^|[./\\])(main_[a-z_]*|[a-z_]*sft[a-z_]*trainer[a-z_]*)(?:\.py)?$")
OPENERS = ("if", "while", "until", "for", "case", "select")
CLOSERS = ("fi", "done", "esac")
TURNS = ("then", "elif", "else")
KEYWORDS = ("do", "in", "!", "time", "function")
SHELLS = ("bash", "sh", "zsh", "ssh", "srun", "sbatch", "docker", "podman", "kubectl", "eval", "su", "sudo", "tmux")
MAIN = re.compile(r"\bmain_[a-z_]+")
MOST_STEPS = 200_000


def follow(text: str, environ: Mapping[str, str], name: str | None = None) -> Script:
    """Every launch of the script; `environ` stands for the shell's environment, `name` for the script's path.

    Raises RecursionError for a script whose functions call each other without an end.
    """
    follower = _Follower(environ, name)
    follower.run(scan(text))
    follower.look_elsewhere()
    return follower.script


class _Follower:
    def __init__(self, environ: Mapping[str, str], name: str | None) -> None:
        self.script = Script()
        self.variables = Variables(environ)
        if name is not None:
            self.variables.put_items("BASH_SOURCE", {0: Argument(name, 1)})
        self.expander = Expander(self.variables, self.script, name)
        self.left: list[Variable | None] = []
        self.handed: set[str] = set()
        self.branches = Branches()
        self.declarations = Declarations(self.expander, self.branches)
        self.functions: dict[str, list[Command]] = {}
        self.called: set[str] = set()
        self.written: list[Body] = []
        self.steps = 0

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
        self.variables.read.clear()
        words = self._strip_keywords(list(command.words))
        if not words:
            self.branches.bare(command.end)
        elif self.branches.runs():
            self.branches.done(self._simple(words, command), command.end)
        else:
            self.branches.passed(command.end)
        self._subshell(command.end)

    def _subshell(self, end: str) -> None:
        """A folder that `( cd X; ... )` enters is left at its end."""
        if end == "(":
            self.left.append(self.variables.get("PWD"))
        elif end == ")" and self.left:
            self.variables.known["PWD"] = self.left.pop() or Variable()

    def _enter(self, arguments: list[Argument]) -> None:
        """`cd`: where the shell stands from here on; not known where it may not run, or leads nobody knows where."""
        unknown = tuple(name for argument in arguments for name in argument.unknown)
        try:
            if self.branches.doubtful or self.branches.operator == "||" or unknown:
                raise NotKnownError("cd")
            words = [argument.text for argument in arguments]
            folder = entered(words, self.variables.plain("PWD"), self.variables.plain("HOME"))
        except NotKnownError:
            folder, unknown = "", unknown or ("PWD",)
        self.variables.put("PWD", folder, unknown, line=self.expander.line)

    def _simple(self, words: list[Word], command: Command) -> bool | None:
        """Follow a command without keywords; whether it succeeds, where that is known."""
        if words[0].plain in DECLARATIONS:
            self.declarations.declare(words)
            return True
        found: list[Assignment] = []
        for word in words:
            one = assignment(word, self.expander)
            if one is None:
                break
            found.append(one)
        rest = words[len(found) :]
        if not rest:
            for one in found:
                self.declarations.assign(one)
            return True
        return self._command(rest, command)

    def _command(self, words: list[Word], command: Command) -> bool | None:
        name = words[0].plain
        if name in TESTS:
            return truth([argument for word in words for argument in self.expander.expand(word)])
        if name in ("let", ARITHMETIC):
            return self.declarations.let(words[1:])
        if name == "unset":
            self.declarations.unset(words[1:])
        elif name in READERS:
            self.declarations.read(words)
        elif name == "set" and any(word.plain == "--" for word in words):
            mark = next(index for index, word in enumerate(words) if word.plain == "--")
            self.expander.positional = [item for word in words[mark + 1 :] for item in self.expander.expand(word)]
        elif name == "shift":
            count = words[1].plain if len(words) > 1 else "1"
            self.expander.positional = self.expander.positional[int(count) if count.isdecimal() else 1 :]
        elif name in ("cd", "pushd"):
            self._enter([argument for word in words[1:] for argument in self.expander.expand(word)])
        elif name in self.functions:
            self._call(name, [argument for word in words[1:] for argument in self.expander.expand(word)])
        else:
            self._launch(words, command)
        return None

    def _call(self, name: str, arguments: list[Argument]) -> None:
        outer, self.expander.positional = self.expander.positional, arguments
        self.variables.took(POSITIONAL)
        self.called.add(name)
        self.variables.enter()
        self.run(self.functions[name])
        self.variables.leave()
        self.expander.positional = outer

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
            elif first == "{":
                self.branches.enter()
            elif first == "}":
                self.branches.leave()
            elif first == "!" and len(words) > 1:
                self.branches.negate()
            elif first not in KEYWORDS:
                return words
            words = words[1:]
        return words

    def _loop(self, words: list[Word]) -> None:
        """The first value of a loop stands for all."""
        names = [word.plain for word in words]
        if len(words) > 2 and names[1] == ARITHMETIC:
            self._counting_loop(words[2])
        elif len(words) > 3 and names[2] == "in":
            first = self.expander.expand(words[3])
            if self.variables.get(names[1]) is None:
                value = first[0] if first else Argument("", words[0].line)
                self.variables.put(names[1], value.text, value.unknown, line=words[0].line)
            if len(words) > 4:
                self.script.traps.append(Trap(words[0].line, "loop", f"{names[1]} takes its first value only"))

    def _counting_loop(self, word: Word) -> None:
        """`for ((i = 0; i < 4; i++))`: the value before the first round stands for all."""
        start = "".join(argument.text for argument in self.expander.expand(word)).partition(";")[0]
        self.expander.number(start, word.line)
        self.expander.note("loop", f"(({word.plain})) counts no further than its start")

    def _launch(self, words: list[Word], command: Command) -> None:
        arguments: list[Argument] = []
        read: list[frozenset[str]] = []
        for word in words:
            self.variables.read.clear()
            arguments += self.expander.expand(word)
            read += [frozenset(self.variables.read)] * (len(arguments) - len(read))
        for index, argument in enumerate(arguments):
            found = ENTRY.search(argument.text)
            if found and "=" not in argument.text and self._runs(arguments[:index]):
                self._note_end(command, argument.line)
                uses = self.variables.behind_all(self.handed.union(*read[index + 1 :]))
                self.script.launches.append(Launch(found[1], argument.line, tuple(arguments[index + 1 :]), uses))
                return
        if arguments:
            self.script.traps.append(Trap(words[0].line, "command", arguments[0].text))
            self._inside(arguments, read, command)

    def _inside(self, arguments: list[Argument], read: list[frozenset[str]], command: Command) -> None:
        """Follow what another shell is given to run: `bash -c "..."`, `ssh host <<EOF`."""
        if arguments[0].text.rpartition("/")[2] not in SHELLS:
            self.written += command.bodies
            return
        for argument, names in zip(arguments[1:], read[1:], strict=True):
            if re.search(r"\s", argument.text) and MAIN.search(argument.text):
                self.script.buried |= set(argument.unknown)
                self.handed |= names
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
