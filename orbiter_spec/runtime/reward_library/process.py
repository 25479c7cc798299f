"""A function in a process that can be ended: for time limits that always hold, and for a limit on memory.

The process is `reward.py` run as a program beside this folder; it loads the one part, then answers one question at a
time, a length and a pickle each way. It looks at its own clock, so that a call that is too slow can still say where it
was; a call inside one long C function is ended by the parent, which cannot. A process that has ended, for whatever
reason, is replaced at the next call.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import resource
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from .errors import CallError, RewardError, describe, frame_line, user_trace
from .loading import find_function
from .printing import limit_printing, speaking_for
from .signature import Bound

SERVE_FLAG = "--serve-reward"
START_SECONDS = 300.0
LAST_WORDS_SECONDS = 2.0
_LENGTH = struct.Struct(">Q")


class Processes:
    """The processes of one part: started when they are needed, as many as there are calls at once."""

    def __init__(self, folder: Path, item: Mapping[str, Any]) -> None:
        self._folder, self._item = folder, item
        self._seconds = float(item.get("timeout_seconds") or 600.0)
        self._idle: list[_Process] = []
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the first one, so that a part that cannot be loaded says so before the first sample."""
        self._idle.append(_Process(self._folder, self._item))

    def call(self, values: Mapping[str, Any]) -> Any:
        """What the function returns for these values. Raises CallError."""
        with self._lock:
            process = self._idle.pop() if self._idle else None
        process = process or _Process(self._folder, self._item)
        answer = process.ask((dict(values), self._seconds), self._seconds + LAST_WORDS_SECONDS)
        if answer is None:
            raise CallError(process.end(self._seconds))
        if answer.get("late") is None:
            with self._lock:
                self._idle.append(process)
        else:
            process.end(self._seconds)
        if "result" in answer:
            return answer["result"]
        raise CallError(answer["said"], answer.get("trace", ""))


class _Process:
    def __init__(self, folder: Path, item: Mapping[str, Any]) -> None:
        program = Path(__file__).resolve().parent.parent / "reward.py"
        self._late = False
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(program), SERVE_FLAG, str(folder)],  # -P: no neighbour hides a module
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        answer = self.ask(dict(item), START_SECONDS)
        if answer is None:
            raise RewardError(f"its process did not start: {self.end(START_SECONDS)}")
        if "said" in answer:
            self.end(0)
            raise RewardError(answer["said"])

    def ask(self, question: Any, seconds: float) -> dict[str, Any] | None:
        """One question and its answer; None when the process ended instead, which it does when the time is over."""
        alarm = threading.Timer(seconds, self._kill)
        alarm.daemon = True
        alarm.start()
        try:
            _send(self._process.stdin, question)
            answer: dict[str, Any] = _receive(self._process.stdout)
            return answer
        except (OSError, EOFError):
            return None
        finally:
            alarm.cancel()

    def _kill(self) -> None:
        self._late = True
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self, seconds: float) -> str:
        """End it, and say how it had ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)
        code, late = self._process.poll(), self._late
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        if late:
            return f"took longer than {seconds:g} s, inside a call that cannot be interrupted"
        if code is not None and code < 0:
            name = signal.Signals(-code).name
            return f"ended its process with {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
        return f"ended its process with exit code {code}"


def _send(pipe: Any, value: Any) -> None:
    data = pickle.dumps(value)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def _receive(pipe: Any) -> Any:
    head = _read(pipe, _LENGTH.size)
    return pickle.loads(_read(pipe, _LENGTH.unpack(head)[0]))


def _read(pipe: BinaryIO, count: int) -> bytes:
    data = pipe.read(count)
    if len(data) < count:
        raise EOFError
    return data


def serve(folder: Path) -> None:
    """The process: load the part that the first message declares, then answer until the pipe is closed."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    limit_printing()
    item = _receive(questions)
    try:
        bound = Bound(find_function(folder, item), item.get("args") or {})
    except BaseException as error:
        _send(answers, {"said": load_words(error, folder)})
        return
    limit_memory(item.get("memory_megabytes"))
    _send(answers, {"ready": True})
    server = _Server(folder, item["name"], bound, answers)
    with contextlib.suppress(EOFError):
        while True:
            server.answer(*_receive(questions))


def load_words(error: BaseException, folder: Path) -> str:
    """Why a part could not be loaded."""
    if isinstance(error, (RewardError, ValueError)) and not isinstance(error, UnicodeError):
        return str(error)
    return describe(error, folder).removeprefix("raised ")


def limit_memory(megabytes: float | None) -> None:
    """Let this process grow by no more than that beyond what it holds now."""
    if megabytes:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + int(megabytes * 1024**2)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


class _Server:
    def __init__(self, folder: Path, name: str, bound: Bound, answers: Any) -> None:
        self._folder, self._name, self._bound, self._answers = folder, name, bound, answers
        self._lock = threading.Lock()

    def answer(self, values: Mapping[str, Any], seconds: float) -> None:
        """Call the function; a clock beside it ends this process when the time is over."""
        alarm = threading.Timer(seconds, self._give_up, (seconds, threading.get_ident()))
        alarm.daemon = True
        alarm.start()
        try:
            with speaking_for(self._name):
                result = self._bound(values)
                result = asyncio.run(result) if asyncio.iscoroutine(result) else result
            reply: dict[str, Any] = {"result": result}
            pickle.dumps(result)
        except BaseException as error:
            reply = {"said": describe(error, self._folder), "trace": user_trace(error)}
        alarm.cancel()
        with self._lock:
            _send(self._answers, reply)

    def _give_up(self, seconds: float, thread: int) -> None:
        where = frame_line(sys._current_frames().get(thread), self._folder)
        with self._lock:
            _send(
                self._answers,
                {"said": f"took longer than {seconds:g} s" + (f" ({where})" if where else ""), "late": True},
            )
            os._exit(1)
