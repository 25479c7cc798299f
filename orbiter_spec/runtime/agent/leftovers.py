"""Whether a process of the user's code may be used again: whether anything but its modules' globals has changed.

Threads, child processes, unfinished coroutines, a timer, another working folder or environment, many open files, or
much more memory than in the beginning: any of these would reach into the next episode, so the process ends with the one
that left it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path

GROWTH = 0.25
"""Share of the memory limit that may stay behind."""
FILES = 16
"""Open files and sockets that may: an event loop keeps some."""


class Beginning:
    """What the process looked like when it was forked. `megabytes` is what it may take beyond that."""

    def __init__(self, megabytes: int | None) -> None:
        self.folder, self.environment = os.getcwd(), dict(os.environ)
        self.bytes, self.files = size_bytes(), open_files()
        self.growth_bytes = (megabytes or 4096) * 2**20 * GROWTH

    def is_kept(self, loop: asyncio.AbstractEventLoop | None) -> bool:
        """Whether it still looks like that; `loop` is the one that ran the user's coroutines."""
        try:
            return (
                threading.active_count() == 1
                and not has_children()
                and (loop is None or not asyncio.all_tasks(loop))
                and signal.getitimer(signal.ITIMER_REAL)[0] == 0
                and os.getcwd() == self.folder
                and os.environ == self.environment
                and size_bytes() - self.bytes <= self.growth_bytes
                and open_files() - self.files <= FILES
            )
        except OSError:
            return False


def has_children() -> bool:
    """Whether a process that this one started is alive, or ended and was not waited for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def open_files() -> int:
    """How many descriptors are open; 0 where the system does not say."""
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return 0


def size_bytes() -> int:
    """Address space of this process, which is what its limit counts; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
