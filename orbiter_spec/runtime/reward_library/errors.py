"""What goes wrong while a response is scored, said in one line that names the user's file and line."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

LIBRARY = Path(__file__).resolve().parent
PYTHON = Path(traceback.__file__).resolve().parent
MESSAGE_CHARACTERS = 600


class RewardError(RuntimeError):
    """A part of the reward cannot be loaded, or could not score a sample and is to stop the run.

    It reaches other processes as the RuntimeError it is: they do not have this module.
    """

    def __reduce__(self) -> tuple[Callable[..., RuntimeError], tuple[str]]:
        return RuntimeError, (str(self),)


class CallError(Exception):
    """A call that gave no score, in words that need no exception's name before them; `trace` is what to print."""

    def __init__(self, said: str, trace: str = "") -> None:
        super().__init__(said)
        self.trace = trace


def short(text: str, limit: int = MESSAGE_CHARACTERS) -> str:
    """One line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def describe(error: BaseException, folder: Path) -> str:
    """What an exception of a user's code says, with the line it came from."""
    if isinstance(error, CallError) or (isinstance(error, ValueError) and str(error).startswith("returned ")):
        return str(error)
    if isinstance(error, SystemExit):
        said = f"called sys.exit({'' if error.code is None else error.code})"
    elif isinstance(error, MemoryError):
        said = "ran out of memory"
    else:
        said = f"raised {type(error).__name__}: {short(str(error), MESSAGE_CHARACTERS // 2)}"
    line = error_line(error, folder)
    return f"{said} ({line})" if line else said


def user_trace(error: BaseException) -> str:
    """The traceback from where it leaves this library; all of it when it never does."""
    rest = error.__traceback__
    while rest is not None and LIBRARY in Path(rest.tb_frame.f_code.co_filename).parents:
        rest = rest.tb_next
    return "".join(traceback.format_exception(type(error), error, rest or error.__traceback__))


def error_line(error: BaseException, folder: Path) -> str:
    """Where in the user's code `error` was raised, as `rewards.py:12 in correct`; empty when none of it was run."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_shown(error.filename, folder)}:{error.lineno}"
    frames = [
        (summary.filename, summary.lineno or 0, summary.name) for summary in traceback.extract_tb(error.__traceback__)
    ]
    return _user_line(frames, folder)


def frame_line(frame: FrameType | None, folder: Path) -> str:
    """Where in the user's code a thread is, from its innermost frame."""
    frames = []
    while frame is not None:
        frames.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return _user_line(reversed(frames), folder)


def function_line(function: Any, folder: Path) -> str:
    """Where a function is defined; empty when it has no code of its own."""
    code = getattr(function, "__code__", None)
    return f"{_shown(code.co_filename, folder)}:{code.co_firstlineno} in {code.co_name}" if code else ""


def _user_line(frames: Iterable[tuple[str, int, str]], folder: Path) -> str:
    """The innermost frame in the compiled folder's code, else in a package that is neither ours nor Python's."""
    known = [(Path(name), line, function) for name, line, function in frames if not name.startswith("<")]
    below = [frame for frame in known if folder / "code" in frame[0].parents]
    strangers = [frame for frame in known if not {LIBRARY, LIBRARY.parent, PYTHON} & {*frame[0].parents}]
    if not below and not strangers:
        return ""
    path, line, function = (below or strangers)[-1]
    return f"{_shown(str(path), folder)}:{line}" + (f" in {function}" if function != "<module>" else "")


def _shown(name: str, folder: Path) -> str:
    """The file as users know it: below the compiled folder's code, or by its bare name."""
    path = Path(name)
    home = folder / "code"
    return path.relative_to(home).as_posix() if home in path.parents else path.name
