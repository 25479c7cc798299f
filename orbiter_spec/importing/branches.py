"""Which commands of a script are followed: `if` and `elif` whose tests compare known values, `&&`, `||` and `{ }`.

Nothing asks the machine: a test of files, or of what a command printed, is not known, and neither is a loop or `case`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from orbiter_spec.importing.script import Argument

TESTS = ("[", "[[", "test", "true", "false", ":")
NUMBERS = {
    "-eq": int.__eq__,
    "-ne": int.__ne__,
    "-lt": int.__lt__,
    "-le": int.__le__,
    "-gt": int.__gt__,
    "-ge": int.__ge__,
}


@dataclass(slots=True)
class Branch:
    """One open `if` or loop.

    `active` says whether its commands run, `taken` whether an earlier branch has: True, False, or None where that is
    not known. `asks` is true between `if` and `then`.
    """

    active: bool | None = True
    taken: bool | None = False
    asks: bool = False
    answer: bool | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """An open `{`: whether what it holds is followed, and what stood before it in its chain."""

    followed: bool
    status: bool | None
    negated: bool


class Branches:
    """The open branches and groups, and the chain of `&&` and `||` in hand."""

    def __init__(self) -> None:
        self.open_ones: list[Branch] = []
        self.groups: list[Group] = []
        self.left_group = False
        self.operator = ""
        self.status: bool | None = None
        self.negated = False

    @property
    def doubtful(self) -> bool:
        """True where nobody can say whether the commands run."""
        return any(branch.active is None for branch in self.open_ones)

    def open(self, keyword: str) -> None:
        """`if`, or a loop."""
        if any(branch.active is False for branch in self.open_ones):
            self.open_ones.append(Branch(active=False, taken=True))
        else:
            self.open_ones.append(Branch(asks=True) if keyword == "if" else Branch(active=None))

    def turn(self, keyword: str) -> None:
        """`then`, `elif` or `else`."""
        if not self.open_ones:
            return
        branch = self.open_ones[-1]
        if keyword == "elif":
            branch.active, branch.asks, branch.answer = branch.taken is not True, True, None
            return
        answer = branch.answer if keyword == "then" else True
        branch.asks = False
        if branch.taken is True or answer is False:
            branch.active = False
        else:
            branch.active = True if answer and branch.taken is False else None
            branch.taken = branch.active

    def close(self) -> None:
        """`fi`, `done` or `esac`."""
        if self.open_ones:
            self.open_ones.pop()

    def enter(self) -> None:
        """`{`: one command made of several."""
        group = Group(self.runs(), self.status, self.negated)
        self.groups.append(group)
        if not group.followed:
            self.open_ones.append(Branch(active=False, taken=True))
        self.operator, self.status, self.negated = "", None, False

    def leave(self) -> None:
        """`}`: the group went as its last command did."""
        if not self.groups:
            return
        group = self.groups.pop()
        if not group.followed:
            self.close()
            self.status = group.status
        elif self.status is not None:
            self.status = self.status != group.negated
        self.left_group = True

    def negate(self) -> None:
        """`!` before a command."""
        self.negated = True

    def runs(self) -> bool:
        """Whether the next command is followed."""
        if any(branch.active is False for branch in self.open_ones):
            return False
        return not (self.operator == "&&" and self.status is False) and not (
            self.operator == "||" and self.status is True
        )

    def bare(self, end: str) -> None:
        """Note the end of a line that holds keywords alone."""
        if not self.left_group:
            self.status = None
        self.passed(end)

    def done(self, status: bool | None, end: str) -> None:
        """Note how the command went that was followed."""
        self.status = status if status is None else status != self.negated
        self.passed(end)

    def passed(self, end: str) -> None:
        """Note how the command ends, whether it was followed or not."""
        self.negated = self.left_group = False
        self.operator = end if end in ("&&", "||") else ""
        if self.open_ones and self.open_ones[-1].asks:
            self.open_ones[-1].answer = self.status


def truth(arguments: Sequence[Argument]) -> bool | None:
    """What a test answers, or None where only a running shell could say."""
    words = [argument.text for argument in arguments]
    if words[0] in ("true", "false", ":"):
        return words[0] != "false"
    if any("$" in text or "(" in text for argument in arguments for text in argument.unknown):
        return None
    closing = {"[": "]", "[[": "]]"}.get(words[0])
    if closing is not None and words[-1] != closing:
        return None
    return _answer(words[1:-1] if closing else words[1:], pattern=words[0] == "[[")


def _answer(words: list[str], *, pattern: bool) -> bool | None:
    if words and words[0] == "!":
        inner = _answer(words[1:], pattern=pattern)
        return None if inner is None else not inner
    if len(words) < 2:
        return bool(words and words[0])
    if len(words) == 2:
        return {"-z": not words[1], "-n": bool(words[1])}.get(words[0])
    if len(words) != 3:
        return None
    left, operator, right = words
    if operator in ("=", "==", "!="):
        equal = fnmatchcase(left, right) if pattern else left == right
        return equal == (operator != "!=")
    if operator in NUMBERS and left.lstrip("-").isdigit() and right.lstrip("-").isdigit():
        return bool(NUMBERS[operator](int(left), int(right)))
    return None
