"""Command substitutions whose answer is known from the script alone: `$(cd "$(dirname "$0")/.." && pwd)` and its kin.

Half of the scripts that people share find their own folder this way, and every path of theirs hangs on it. The
commands here only take texts apart and put paths together, so that is done instead of running anything. Folders are
taken at their word, as `cd` and `pwd` take them: symbolic links are not followed, and a folder that is named is there.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence

from orbiter_spec.importing.words import Command

ENDS = ("", "&&", "||", ";", "\n")
FORMAT = re.compile(r"(?:[^%\\]|%s)*(?:\\n)?")


class NotKnownError(Exception):
    """A command whose answer only a running shell has."""


def printed(
    commands: Sequence[Command], words_of: Callable[[Command], list[str]], folder: str | None, home: str | None
) -> str:
    """What the commands of a substitution print; `words_of` expands the words of one.

    `folder` is where the shell stands, `home` the user's folder, each None if not known. Raises NotKnownError where
    only a running shell has the answer.
    """
    lines, before = list[str](), ""
    for command in commands:
        skipped, before = before == "||", command.end
        if command.end not in ENDS:
            raise NotKnownError(command.end)
        words = [] if skipped else words_of(command)
        if words[:1] == ["cd"]:
            folder = entered(words[1:], folder, home)
        elif words:
            lines.append(output(words, folder))
        elif not skipped:
            raise NotKnownError("")
    return "\n".join(lines).rstrip("\n")


def output(arguments: Sequence[str], folder: str | None) -> str:
    """What a command prints, without the newline at its end; `folder` is where the shell stands, None if not known.

    Raises NotKnownError for every command but those that only look at their words.
    """
    name, words = arguments[0].rpartition("/")[2], list(arguments[1:])
    try:
        return COMMANDS[name](words, folder)
    except (KeyError, IndexError, ValueError):
        raise NotKnownError(name) from None


def entered(words: Sequence[str], folder: str | None, home: str | None) -> str:
    """Where `cd` with these words leads. Raises NotKnownError where that depends on what was before."""
    words = _plain(words, ("-P", "-L"))
    target = words[0] if words else home
    if len(words) > 1 or not target or target == "-":
        raise NotKnownError("cd")
    return _absolute(target, folder)


def _absolute(path: str, folder: str | None) -> str:
    if not path.startswith("/") and folder is None:
        raise NotKnownError(path)
    return posixpath.normpath(posixpath.join(folder or "/", path))


def _plain(words: Sequence[str], flags: Sequence[str]) -> list[str]:
    """The words that are no flags. Raises ValueError for a flag that is not one of `flags`."""
    kept = [word for word in words if word not in (*flags, "--")]
    if any(word.startswith("-") and word != "-" for word in kept):
        raise ValueError(kept)
    return kept


def _dirname(words: list[str], folder: str | None) -> str:
    (path,) = _plain(words, ())
    head = path.rstrip("/").rpartition("/")[0].rstrip("/")
    return head or ("/" if path.startswith("/") else ".")


def _basename(words: list[str], folder: str | None) -> str:
    path, *suffix = _plain(words, ())
    name = path.rstrip("/").rpartition("/")[2] or path[:1]
    return name.removesuffix(suffix[0]) if suffix and name != suffix[0] else name


def _realpath(words: list[str], folder: str | None) -> str:
    (path,) = _plain(words, ("-m", "-e", "-f", "-s", "-q"))
    return _absolute(path, folder)


def _readlink(words: list[str], folder: str | None) -> str:
    if not words or words[0] not in ("-f", "-m", "-e"):
        raise ValueError(words)
    return _realpath(words, folder)


def _pwd(words: list[str], folder: str | None) -> str:
    if _plain(words, ("-P", "-L")) or folder is None:
        raise ValueError(words)
    return folder


def _echo(words: list[str], folder: str | None) -> str:
    if words and (words[0].startswith("-") or any("\\" in word for word in words)):
        raise ValueError(words)
    return " ".join(words)


def _printf(words: list[str], folder: str | None) -> str:
    form, *values = words
    if not FORMAT.fullmatch(form) or form.count("%s") != len(values):
        raise ValueError(form)
    parts = form.removesuffix("\\n").split("%s")
    return "".join(part + value for part, value in zip(parts, [*values, ""], strict=True))


COMMANDS: Mapping[str, Callable[[list[str], str | None], str]] = {
    "dirname": _dirname,
    "basename": _basename,
    "realpath": _realpath,
    "readlink": _readlink,
    "pwd": _pwd,
    "echo": _echo,
    "printf": _printf,
}
