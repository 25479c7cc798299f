"""Threads and loops for users' functions, with a time limit that holds.

A function in this process gets an exception thrown into its thread when its time is over (PyThreadState_SetAsyncExc),
which ends any loop written in Python and frees the thread. Code inside one C call cannot be reached like that: the call
is given up `GRACE_SECONDS` later and its thread is lost until it returns. A part with `timeout_seconds` runs in a
process of its own, where the time limit always holds (see `process`). Threads are daemons, so a lost one never keeps
a program from ending.
"""

from __future__ import annotations

import asyncio
import ctypes
import queue
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import CallError, describe, frame_line
from .printing import speaking_for

FIRST_THREADS, THREADS = 4, 64
GRACE_SECONDS = 5.0
LOOK_SECONDS = 0.25


class _Interrupted(BaseException):
    """Thrown into a thread whose time is over; not an Exception, so that users' handlers let it pass."""


@dataclass(eq=False)
class _Call:
    run: Callable[[], Any]
    seconds: float
    folder: Path
    name: str
    future: Future[Any] = field(default_factory=Future)
    thread: int = 0
    deadline: float = 0.0
    interrupted: bool = False
    where: str = ""

    def late(self) -> CallError:
        return CallError(f"took longer than {self.seconds:g} s" + (f" ({self.where})" if self.where else ""))


class Threads:
    """A pool that looks after the calls in it.

    It starts with a few threads, which serve quick functions best: Python runs one of them at a time anyway. When calls
    are still waiting after `LOOK_SECONDS`, the functions are slow ones, and it grows.
    """

    def __init__(self, size: int = THREADS) -> None:
        self._size = size
        self._waiting: queue.SimpleQueue[_Call] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._running: set[_Call] = set()
        self._threads = 0
        self._idle = 0
        self._watching = False

    def submit(self, run: Callable[[], Any], seconds: float, folder: Path, name: str) -> Future[Any]:
        """Call `run` in a thread; the result fails with CallError when it takes longer than `seconds`."""
        call = _Call(run, seconds, folder, name)
        self._waiting.put(call)
        with self._lock:
            if self._idle < self._waiting.qsize() and self._threads < FIRST_THREADS:
                self._grow()
            if not self._watching:
                self._watching = True
                threading.Thread(target=self._watch, name="orbiter-reward-watch", daemon=True).start()
        return call.future

    def within(self, run: Callable[[], Any], seconds: float, folder: Path, name: str, whole: Future[Any]) -> Any:
        """Call `run` in this thread, one of the pool's, with a time limit of its own.

        Raises CallError when it is over. A call that cannot be interrupted fails `whole`, which is what the thread was
        asked for.
        """
        return self._limited(_Call(run, seconds, folder, name, whole))

    def _grow(self) -> None:
        self._threads += 1
        threading.Thread(target=self._work, name=f"orbiter-reward-{self._threads}", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            call = self._waiting.get()
            with self._lock:
                self._idle -= 1
            self._do(call)

    def _do(self, call: _Call) -> None:
        try:
            result = self._limited(call)
        except Exception as error:
            _settle(call.future, error=error)
        except BaseException as error:
            _settle(call.future, error=CallError(describe(error, call.folder)))
        else:
            _settle(call.future, result=result)

    def _limited(self, call: _Call) -> Any:
        call.thread, call.deadline = threading.get_ident(), time.monotonic() + call.seconds
        try:
            with self._lock:
                self._running.add(call)
            try:
                with speaking_for(call.name):
                    return call.run()
            finally:
                with self._lock:
                    self._running.discard(call)
                    if call.interrupted:
                        _throw(call.thread, None)
                if call.interrupted:
                    raise _Interrupted
        except _Interrupted:
            raise call.late() from None

    def _watch(self) -> None:
        while True:
            time.sleep(LOOK_SECONDS)
            now = time.monotonic()
            with self._lock:
                for call in [call for call in self._running if now > call.deadline]:
                    self._look_after(call, now)
                for _ in range(min(self._waiting.qsize() - self._idle, self._size - self._threads)):
                    self._grow()

    def _look_after(self, call: _Call, now: float) -> None:
        if not call.interrupted:
            call.interrupted = True
            call.where = frame_line(sys._current_frames().get(call.thread), call.folder)
            _throw(call.thread, _Interrupted)
        elif now > call.deadline + GRACE_SECONDS:
            self._running.discard(call)
            self._size += 1
            _settle(call.future, error=call.late())


def _throw(thread: int, exception: type[BaseException] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), None if exception is None else ctypes.py_object(exception)
    )


def _settle(future: Future[Any], *, result: Any = None, error: Exception | None = None) -> None:
    """Set a result once; a call that was given up may still come back."""
    try:
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
    except InvalidStateError:
        pass


class Loop:
    """An event loop in a thread of its own, started when it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.thread: threading.Thread | None = None

    def submit(self, coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Run a coroutine there."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self.thread = threading.Thread(target=self._loop.run_forever, name=self._name, daemon=True)
                self.thread.start()
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def where(self, folder: Path) -> str:
        """The line of user's code that the loop's thread is in."""
        ident = self.thread.ident if self.thread else None
        return frame_line(sys._current_frames().get(ident), folder) if ident else ""

    def abandon(self) -> None:
        """Give up a loop that something blocks: what comes next runs on a new one."""
        with self._lock:
            self._loop = None


THREAD_POOL = Threads()
USERS_LOOP = Loop("orbiter-rewards")
"""Users' coroutines share it, so that a function may keep a session between samples."""
LIBRARY_LOOP = Loop("orbiter-scoring")
"""The library's own work: no user's code runs here, so nothing blocks it."""
