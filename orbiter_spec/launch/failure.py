"""The reason for a failed run, in one line, out of what verl and Ray printed.

A failed Ray task repeats the tracebacks of every process it went through, and each process around it adds an exception
about an exception. The reason is the one that says most: what our own code raised, then a broken machine (memory,
disk), then the last exception that is not merely about another one. A line that our code only printed comes late: a
reward that failed and counted as a number is no reason.
"""

from __future__ import annotations

import re
import signal

MAX_CHARACTERS = 300
TAIL_BYTES = 4 << 20
OURS = "orbiter-spec: "
HOPELESS = ("the disk is full", "Ray could not place", "the path of Ray's session folder")
RAISED = f"Error: {OURS}"
_REPEATED = re.compile(r"\s*\[repeated \d+x across cluster\]")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_PREFIX = re.compile(r"^\((?:[^()]|\([^()]*\))*\bpid=\d+(?:, ip=[^)]*)?\)\s?")
_EXCEPTION = re.compile(
    r"^[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Missing[A-Za-z]*)(?:\([\w.]+\))?(?::(?: (?P<text>.*))?)?$"
)
_ABOUT_OTHERS = (
    "RayTaskError",
    "ray.exceptions",
    "SystemExit",
    "KeyboardInterrupt",
    "could not be generated or scored; the cause is above",
    "Event loop is closed",
    "DataLoader worker",
    "BufferError: cannot close exported pointers",
)
_MACHINE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"No space left on device|\[Errno 28\]|OutOfDiskError"), "the disk is full"),
    (re.compile(r"CUDA out of memory[^\n]*|torch\.OutOfMemoryError[^\n]*"), "a GPU ran out of memory"),
    (
        re.compile(r"ray\.exceptions\.OutOfMemoryError|workers? \(tasks / actors\) killed due to memory pressure"),
        "Ray killed a worker because the machine ran out of memory",
    ),
    (re.compile(r"AF_UNIX path length cannot exceed"), "the path of Ray's session folder is too long"),
)
_DEAD_ACTOR = re.compile(r"ActorDiedError|ActorUnavailableError|WorkerCrashedError|The actor died")
_DEAD_CLASS = re.compile(r"class_name: (\S+)")


def is_worth_another_try(reason: str | None) -> bool:
    """False where the next attempt would meet the same wall: a full disk, a Ray that is too small."""
    return not (reason or "").startswith(HOPELESS)


def explain_failure(log_tail: str, exit_code: int | None = None) -> str:
    """The reason for a failure, from the end of `logs/verl.log` and the driver's exit code (negative: its signal)."""
    text = _REPEATED.sub("", _ANSI.sub("", log_tail))
    lines = [_PREFIX.sub("", line.rstrip()) for line in text.split("\n")]
    found = _first(lines, RAISED) or _machine(lines) or _exception(lines) or _first(lines, OURS) or _dead_actor(lines)
    return _short(found or _by_code(exit_code))


def read_tail(data: bytes) -> str:
    """The end of a log as text."""
    return data[-TAIL_BYTES:].decode("utf-8", errors="replace")


def _first(lines: list[str], mark: str) -> str | None:
    """What stands behind `mark` in the first line that has it: later ones follow from it."""
    found = next((line for line in lines if mark in line), None)
    return found.partition(mark)[2] if found else None


def _machine(lines: list[str]) -> str | None:
    for line in reversed(lines):
        for pattern, meaning in _MACHINE:
            match = pattern.search(line)
            if match:
                detail = "" if match.re.pattern.startswith(("ray", "AF_UNIX")) else f": {line.strip()}"
                return meaning + detail
    return None


def _exception(lines: list[str]) -> str | None:
    """The last exception that says something itself, with the line after it when the message starts there."""
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number].strip()
        match = _EXCEPTION.match(line)
        if match is None or any(mark in line for mark in _ABOUT_OTHERS):
            continue
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        text = match["text"] or ""
        return f"{line} {following}".strip() if not text.strip() or text.endswith(":") else line
    return None


def _dead_actor(lines: list[str]) -> str | None:
    if not any(_DEAD_ACTOR.search(line) for line in lines):
        return None
    names = [match[1] for line in lines if (match := _DEAD_CLASS.search(line))]
    who = f" ({names[-1]})" if names else ""
    return f"a Ray process{who} died without a word; most often the machine ran out of memory and killed it"


def _by_code(exit_code: int | None) -> str:
    if exit_code is None:
        return "verl was killed"
    if exit_code >= 0:
        return f"verl ended with exit code {exit_code} and gave no reason"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    why = ", as the kernel does when memory runs out" if name == "SIGKILL" else ""
    return f"verl was killed by {name}{why}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_CHARACTERS else line[: MAX_CHARACTERS - 3] + "..."
