"""Processes of this machine, read from /proc.

A process is named by its id and the moment it started, since ids are used again. Linux only: what a run leaves behind
can be told from other people's processes because orphans return to the run's supervisor, and only Linux offers that.
"""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")
SHARED_MEMORY = "/dev/shm/"


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the state on; empty when there is no such process."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def start_time(pid: int) -> int | None:
    """When `pid` started, in clock ticks since boot; None when it is gone or only waits to be collected."""
    fields = _stat(pid)
    if not fields or fields[0] in "ZX":
        return None
    return int(fields[19])


def is_alive(pid: int, started: int | None = None) -> bool:
    """Whether `pid` runs, and is the process that started at `started` where that is known."""
    now = start_time(pid)
    return now is not None and (started is None or started == now)


def descendants(root: int) -> set[int]:
    """Every living process below `root`, without `root`; a zombie counts while it has children of its own."""
    children: dict[int, list[int]] = {}
    zombies: set[int] = set()
    for entry in os.listdir(PROC):
        fields = _stat(int(entry)) if entry.isdigit() else []
        if fields:
            children.setdefault(int(fields[1]), []).append(int(entry))
            if fields[0] in "ZX":
                zombies.add(int(entry))
    found: set[int] = set()
    open_ends = [root]
    while open_ends:
        for child in children.get(open_ends.pop(), []):
            found.add(child)
            open_ends.append(child)
    return found - zombies


def shared_memory_of(pids: set[int]) -> set[Path]:
    """Named files in shared memory that any of `pids` has mapped."""
    found: set[Path] = set()
    for pid in pids:
        try:
            lines = (PROC / str(pid) / "maps").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            _, mark, name = line.partition(SHARED_MEMORY)
            if mark and not name.endswith(" (deleted)"):
                found.add(Path(SHARED_MEMORY + name))
    return found


def mapped_by_anyone() -> set[Path]:
    """Named files in shared memory that any process we may look at has mapped."""
    return shared_memory_of({int(entry) for entry in os.listdir(PROC) if entry.isdigit()})


def marked(variable: str, value: str) -> set[int]:
    """Processes that were started with `variable=value`, or that name `value` in their command line."""
    entry, name = f"{variable}={value}".encode(), value.encode()
    found: set[int] = set()
    for pid in (int(text) for text in os.listdir(PROC) if text.isdigit()):
        try:
            environment = (PROC / str(pid) / "environ").read_bytes().split(b"\0")
            arguments = (PROC / str(pid) / "cmdline").read_bytes()
        except OSError:
            continue
        if (entry in environment or name in arguments) and start_time(pid) is not None:
            found.add(pid)
    return found - {os.getpid()}
