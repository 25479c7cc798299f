"""A teacher model writes what a row lacks, or new rows after the pattern of one.

Rows are asked about concurrently and come out in the order they went in, each with its answers in the order of their
numbers: with every answer in the cache, the same rows give the same bytes. What the teacher cannot answer is never an
empty row: the row is left out and counted, or everything stops, as the caller says; a teacher that fails on
`FAILURES_IN_A_ROW` rows one after the other has stopped working, and everything stops.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from orbiter_spec.data.chat_client import ChatClient, ChatCounts, ChatEndpoint, ChatError, Messages
from orbiter_spec.data.template import PromptError, PromptTemplate

Fields = Mapping[str, Any]
FAILURES_IN_A_ROW: Final = 20
ROWS_AHEAD_PER_REQUEST: Final = 4
"""Rows that wait for an answer, for each request that may be under way."""


class SynthesisError(Exception):
    """Synthesis cannot go on; `help` says what to do. `waits` when it only has to be allowed to ask."""

    def __init__(self, message: str, *, help: str = "", waits: bool = False) -> None:
        super().__init__(message)
        self.help = help
        self.waits = waits


@dataclass(frozen=True, slots=True)
class Teaching:
    """What is asked about each row, and what becomes of the answers.

    `prompt` and `instructions` are Jinja templates over the row's fields. `format` text puts the answer into the column
    `write`; json takes an object, whose fields are laid over the row's, or a list of objects, each a row. `required`
    are fields that such an object must have. `samples` answers are asked for each row. `keep` passes the row itself on
    as well, before its answers. `on_error` is what a row without a usable answer does: `stop` everything, or `drop`
    that answer.
    """

    prompt: str
    instructions: str | None = None
    format: Literal["text", "json"] = "text"
    write: str = "answer"
    required: tuple[str, ...] = ()
    samples: int = 1
    keep: bool = False
    on_error: Literal["stop", "drop"] = "stop"


@dataclass
class TeachingReport:
    """What happened: rows in and out, answers that were left out by reason, and what asking has cost."""

    rows_in: int = 0
    rows_out: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    chat: ChatCounts = field(default_factory=ChatCounts)


@dataclass(slots=True)
class Taught:
    """What one row became: rows, and the reason of each answer that was left out."""

    rows: list[dict[str, Any]]
    dropped: list[str] = field(default_factory=list)


class Teacher:
    """Asks one endpoint about rows. `report` may be read at any time."""

    def __init__(self, endpoint: ChatEndpoint, teaching: Teaching) -> None:
        """Raises SynthesisError for templates that cannot be used."""
        self.endpoint, self.teaching = endpoint, teaching
        self.report = TeachingReport()
        self._failures = 0
        self._stopped: SynthesisError | None = None
        try:
            self._prompt = PromptTemplate(teaching.prompt)
            self._instructions = PromptTemplate(teaching.instructions) if teaching.instructions else None
        except PromptError as error:
            raise SynthesisError(str(error), help=error.help) from None

    async def ask(self, client: ChatClient, row: Fields) -> Taught:
        """What `row` becomes. Raises SynthesisError, and OSError."""
        self.report.rows_in += 1
        messages = self.messages(row)
        made = Taught([dict(row)] if self.teaching.keep else [])
        for answer in await self._answers(client, messages):
            if isinstance(answer, ChatError):
                made.dropped.append(str(answer))
            else:
                made.rows += self._made(row, answer)
        self.report.rows_out += len(made.rows)
        self.report.dropped.update(made.dropped)
        return made

    @property
    def rows_ahead(self) -> int:
        """Rows read before the first answer is passed on."""
        return self.endpoint.concurrency * ROWS_AHEAD_PER_REQUEST

    def client(self) -> ChatClient:
        """A client whose counts go into the report."""
        client = ChatClient(self.endpoint)
        self.report.chat = client.counts
        return client

    def messages(self, row: Fields) -> Messages:
        """What the teacher is asked about `row`. Raises SynthesisError."""
        try:
            question = [{"role": "user", "content": self._prompt.render(row)}]
            if self._instructions is None:
                return question
            return [{"role": "system", "content": self._instructions.render(row)}, *question]
        except PromptError as error:
            raise SynthesisError(str(error), help=error.help) from None

    async def _answers(self, client: ChatClient, messages: Messages) -> list[str | ChatError]:
        """All samples at once; the first error ends the others."""
        try:
            async with asyncio.TaskGroup() as group:
                samples = range(self.teaching.samples)
                asked = [group.create_task(self._answered(client, messages, sample)) for sample in samples]
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [task.result() for task in asked]

    async def _answered(self, client: ChatClient, messages: Messages, sample: int) -> str | ChatError:
        try:
            text = await client.answer(messages, sample=sample, accept=self.parse)
        except ChatError as error:
            self._fail(error)
            return error
        self._failures = 0
        return text

    def _fail(self, error: ChatError) -> None:
        """Raise SynthesisError unless the answer may be left out: the same one, once everything has stopped."""
        self._failures += 1
        self._stopped = self._stopped or self._reason_to_stop(error)
        if self._stopped is not None:
            raise self._stopped

    def _reason_to_stop(self, error: ChatError) -> SynthesisError | None:
        about = f"{self.endpoint.model} at {self.endpoint.url}"
        said = f"{error} (after {error.attempts} attempts)" if error.attempts > 1 else str(error)
        if error.offline:
            return SynthesisError(f"rows wait for answers of {about}", waits=True)
        if error.stops:
            return SynthesisError(f"{about} cannot be asked: {said}", help="check the address, the model and the key")
        if self.teaching.on_error == "stop":
            help = "start again: answers so far are kept; or leave such rows out with on_error: drop"
            return SynthesisError(f"{about} has no usable answer: {said}", help=help)
        if self._failures >= FAILURES_IN_A_ROW:
            help = "start again when it answers: answers so far are kept"
            return SynthesisError(f"{about} failed {self._failures} times in a row, at last: {said}", help=help)
        return None

    def _made(self, row: Fields, text: str) -> list[dict[str, Any]]:
        if self.teaching.format == "text":
            return [{**row, self.teaching.write: text}]
        return [{**row, **fields} for fields in self.parse(text)]

    def parse(self, text: str) -> list[dict[str, Any]]:
        """The objects in an answer; none for plain text. Raises ValueError for what is not what was asked for."""
        if self.teaching.format == "text":
            return []
        value = _json_in(text)
        objects = value if isinstance(value, list) else [value]
        if not objects or not all(isinstance(item, dict) for item in objects):
            raise ValueError("not a JSON object or a list of some")
        missing = next(
            (name for item in objects for name in self.teaching.required if item.get(name) in (None, "")), None
        )
        if missing is not None:
            raise ValueError(f"JSON object without {missing}")
        return objects


def _json_in(text: str) -> Any:
    """The JSON of an answer, also inside a fenced block."""
    inner = text.strip()
    if inner.startswith("```"):
        inner = inner.partition("\n")[2].rpartition("```")[0]
    try:
        return json.loads(inner)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    except ValueError:
        raise ValueError("not JSON") from None


def taught(teacher: Teacher, rows: Iterable[Fields]) -> Generator[Taught, None, None]:
    """What each of `rows` becomes, in order. Rows are read here, answers arrive in a thread of their own.

    Raises SynthesisError, ChatError when there is no key, and OSError.
    """
    with _loop_thread() as loop, _opened(teacher, loop) as client:
        waiting: deque[Future[Taught]] = deque()
        try:
            for row in rows:
                waiting.append(asyncio.run_coroutine_threadsafe(teacher.ask(client, row), loop))
                if len(waiting) >= teacher.rows_ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@contextmanager
def _loop_thread() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="teacher", daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _cancel_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


@contextmanager
def _opened(teacher: Teacher, loop: asyncio.AbstractEventLoop) -> Iterator[ChatClient]:
    """A client that lives in `loop`; closing it waits for what is under way to end."""
    client = asyncio.run_coroutine_threadsafe(teacher.client().__aenter__(), loop).result()
    try:
        yield client
    finally:
        asyncio.run_coroutine_threadsafe(_close(client), loop).result()


async def _close(client: ChatClient) -> None:
    await _cancel_all()
    await client.__aexit__()
