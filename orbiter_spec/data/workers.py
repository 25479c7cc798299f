"""Work in pieces, in this process or in several: results come in the order of the pieces either way."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

from orbiter_spec.data.pipeline import StepError
from orbiter_spec.data.worker import receive, send

Process = subprocess.Popen[bytes]


class Workers:
    """Processes that each hold `make(*given)`, which takes a piece of work. One runs here, and nothing is started."""

    def __init__(self, make: Callable[..., Callable[[Any], Any]], given: tuple[Any, ...], count: int) -> None:
        """Raises what `make` raises; it is a class or function of a module, and `given` can be pickled."""
        self._here = make(*given)
        self._setup = pickle.dumps((list(sys.path), pickle.dumps((make, given)))) if count > 1 else b""
        self._count = count
        self._processes: list[Process] = []
        self._free: SimpleQueue[Process] = SimpleQueue()
        self._threads = ThreadPoolExecutor(count) if count > 1 else None

    def results(self, pieces: Iterator[Any]) -> Iterator[bytes]:
        """For each piece the pickled answer, or a pickled `StepError` or `NotPlainError`."""
        if self._threads is None:
            for piece in pieces:
                yield pickle.dumps(self._here(piece), protocol=pickle.HIGHEST_PROTOCOL)
            return
        waiting: deque[Future[bytes]] = deque()
        for piece in pieces:
            waiting.append(self._threads.submit(self._ask, pickle.dumps(piece, protocol=pickle.HIGHEST_PROTOCOL)))
            if len(waiting) > 2 * self._count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _ask(self, payload: bytes) -> bytes:
        process = self._take()
        assert process.stdin is not None and process.stdout is not None
        answer = None
        with suppress(OSError):
            send(process.stdin, payload)  # type: ignore[arg-type]
            answer = receive(process.stdout)  # type: ignore[arg-type]
        if answer is None:
            raise StepError("a worker process ended before its work", note=f"exit code {process.wait()}", id="ORB442")
        self._free.put(process)
        return answer

    def _take(self) -> Process:
        if self._free.empty() and len(self._processes) < self._count:
            command = [sys.executable, "-m", "orbiter_spec.data.worker"]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._processes.append(process)
            assert process.stdin is not None
            send(process.stdin, self._setup)  # type: ignore[arg-type]
            return process
        return self._free.get()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.kill() if kind is not None else None
            assert process.stdin is not None and process.stdout is not None
            with suppress(OSError):
                process.stdin.close()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            process.stdout.close() if process.stdout is not None else None
            process.wait()
