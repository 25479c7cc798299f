"""What following a launch script gives: launches with their arguments, and what was not run or not known."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Trap:
    """Something that was not run or could not be known, and its line."""

    line: int
    what: str
    text: str


@dataclass(frozen=True, slots=True)
class Argument:
    """One resolved word with its line; `unknown` names what in it could not be known."""

    text: str
    line: int
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """One command that starts verl: the entry's name, the line, and every argument after the entry.

    `uses` names the variables whose values went into it.
    """

    entry: str
    line: int
    arguments: tuple[Argument, ...]
    uses: frozenset[str] = frozenset()


@dataclass
class Script:
    """What following a script found; `buried` names what could not be known in texts that another shell was given."""

    launches: list[Launch] = field(default_factory=list)
    traps: list[Trap] = field(default_factory=list)
    buried: set[str] = field(default_factory=set)
