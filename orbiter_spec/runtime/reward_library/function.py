"""A part's function as one coroutine, however it is written: plain, async, in batches, or in a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import CallError, describe
from .printing import speaking_for
from .process import Processes
from .signature import Bound, together
from .watch import THREAD_POOL, USERS_LOOP

Call = Callable[[Mapping[str, Any]], Awaitable[Any]]


@dataclass(frozen=True)
class Plain:
    """A part that is one plain call in this process: callable as the others are, or by a thread that has `bound`."""

    call: Call
    bound: Bound
    seconds: float

    def __call__(self, sample: Mapping[str, Any]) -> Awaitable[Any]:
        """The result, as a coroutine."""
        return self.call(sample)


CALL_SECONDS = 600.0
"""Time of one call where the spec names none; it is there so that a function that never returns is found."""
PROCESSES = 4
BATCH_WAIT_SECONDS = 0.05
ANSWER_SECONDS = 1.0


def call_function(bound: Bound, folder: Path, item: Mapping[str, Any]) -> Call:
    """`bound` as a coroutine function that runs on the library's loop and never blocks it."""
    seconds, apart = item.get("timeout_seconds"), item.get("memory_megabytes") is not None
    if apart or (seconds is not None and not bound.is_async and item["kind"] == "function"):
        return _limited(_in_process(bound, folder, item), item.get("concurrency") or PROCESSES)
    limit = seconds or CALL_SECONDS
    if bound.is_async:
        return _limited(_on_loop(bound, folder, item["name"], limit), item.get("concurrency"))
    call = _in_thread(bound, folder, item["name"], limit)
    return _limited(call, item["concurrency"]) if item.get("concurrency") else Plain(call, bound, limit)


def _in_thread(bound: Bound, folder: Path, name: str, seconds: float) -> Call:
    async def call(sample: Mapping[str, Any]) -> Any:
        result = await asyncio.wrap_future(THREAD_POOL.submit(lambda: bound(sample), seconds, folder, name))
        if asyncio.iscoroutine(result):  # a plain function that returns one, such as functools.partial
            return await _finish(result, folder, name, seconds)
        return result

    return call


def _on_loop(bound: Bound, folder: Path, name: str, seconds: float) -> Call:
    async def call(sample: Mapping[str, Any]) -> Any:
        return await _finish(bound(sample), folder, name, seconds)

    return call


async def _finish(coroutine: Any, folder: Path, name: str, seconds: float) -> Any:
    future = USERS_LOOP.submit(_named(coroutine, folder, name))
    try:
        return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), seconds)
    except TimeoutError:
        if future.done():  # the user's own TimeoutError
            raise
        where = USERS_LOOP.where(folder)
        future.cancel()
        where = where if await _blocked() else ""
        raise CallError(f"took longer than {seconds:g} s" + (f" ({where})" if where else "")) from None


async def _blocked() -> bool:
    """True when something on the users' loop does not let go of it; what comes next then gets a new loop."""
    try:
        await asyncio.wait_for(asyncio.wrap_future(USERS_LOOP.submit(asyncio.sleep(0))), ANSWER_SECONDS)
    except TimeoutError:
        USERS_LOOP.abandon()
        return True
    return False


async def _named(coroutine: Any, folder: Path, name: str) -> Any:
    with speaking_for(name):
        try:
            return await coroutine
        except SystemExit as exit:
            raise CallError(describe(exit, folder)) from exit


def _in_process(bound: Bound, folder: Path, item: Mapping[str, Any]) -> Call:
    processes = Processes(folder, item)
    processes.start()

    async def call(sample: Mapping[str, Any]) -> Any:
        values = bound.needed(sample)
        waiting = THREAD_POOL.submit(lambda: processes.call(values), float("inf"), folder, item["name"])
        return await asyncio.wrap_future(waiting)

    return call


def _limited(call: Call, at_once: int | None) -> Call:
    if at_once is None:
        return call
    turns = asyncio.Semaphore(at_once)

    async def in_turn(sample: Mapping[str, Any]) -> Any:
        async with turns:
            return await call(sample)

    return in_turn


class Batches:
    """Samples that arrive together, scored by one call: up to `size`, or what has come after `BATCH_WAIT_SECONDS`."""

    def __init__(self, call: Call, size: int) -> None:
        self._call, self._size = call, size
        self._waiting: list[tuple[Mapping[str, Any], asyncio.Future[Any]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, sample: Mapping[str, Any]) -> Any:
        """This sample's own result of the batch it ends up in."""
        loop = asyncio.get_running_loop()
        own: asyncio.Future[Any] = loop.create_future()
        self._waiting.append((sample, own))
        if len(self._waiting) >= self._size:
            self._send()
        elif self._timer is None:
            self._timer = loop.call_later(BATCH_WAIT_SECONDS, self._send)
        return await own

    def _send(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batch, self._waiting = self._waiting, []
        if batch:
            task = asyncio.get_running_loop().create_task(self._run(batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self, batch: list[tuple[Mapping[str, Any], asyncio.Future[Any]]]) -> None:
        try:
            results = await self._call(together([sample for sample, _ in batch]))
            if isinstance(results, Mapping) or not hasattr(results, "__len__") or len(results) != len(batch):
                raise CallError(f"returned {_shape(results)} for a batch of {len(batch)}; a list of scores is expected")
            for (_, own), result in zip(batch, results, strict=True):
                if not own.done():
                    own.set_result(result)
        except Exception as error:
            for _, own in batch:
                if not own.done():
                    own.set_exception(CallError(str(error)) if isinstance(error, CallError) else error)


def _shape(results: Any) -> str:
    return f"{len(results)} values" if hasattr(results, "__len__") else type(results).__name__
