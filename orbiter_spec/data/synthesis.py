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
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from orbiter_spec.data.chat_client import ChatClient, ChatCounts, ChatEndpoint, ChatError, Messages
from orbiter_spec.data.template import PromptError, PromptTemplate

Fields = Mapping[str, Any]
FAILURES_IN_A_ROW: Final = 20
ROWS_AHEAD_PER_REQUEST: Final = 4
"""Rows that wait for an answer, for each request that may be under way."""


class SynthesisError(Exception):
    """Synthesis cannot go on; `help` says what to do."""

    def __init__(self, message: str, *, help: str = "") -> None:
        super().__init__(message)
        self.help = help


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

    async def rows(self, rows: Iterable[Fields]) -> AsyncGenerator[dict[str, Any], None]:
        """The rows of `rows` with what the teacher says about them. Raises SynthesisError, and OSError."""
        async with self._client() as client:
            waiting: deque[asyncio.Task[list[dict[str, Any]]]] = deque()
            try:
                for row in rows:
                    waiting.append(asyncio.create_task(self._taught(client, row)))
                    if len(waiting) >= self.rows_ahead:
                        for made in await waiting.popleft():
                            yield made
                while waiting:
                    for made in await waiting.popleft():
                        yield made
            finally:
                await _cancel(waiting)

    @property
    def rows_ahead(self) -> int:
        """Rows read before the first answer is passed on."""
        return self.endpoint.concurrency * ROWS_AHEAD_PER_REQUEST

    def messages(self, row: Fields) -> Messages:
        """What the teacher is asked about `row`. Raises SynthesisError."""
        try:
            question = [{"role": "user", "content": self._prompt.render(row)}]
            if self._instructions is None:
                return question
            return [{"role": "system", "content": self._instructions.render(row)}, *question]
        except PromptError as error:
            raise SynthesisError(str(error), help=error.help) from None

    def _client(self) -> ChatClient:
        client = ChatClient(self.endpoint)
        self.report.chat = client.counts
        return client

    async def _taught(self, client: ChatClient, row: Fields) -> list[dict[str, Any]]:
        """The rows that `row` becomes."""
        self.report.rows_in += 1
        messages = self.messages(row)
        made = [dict(row)] if self.teaching.keep else []
        for text in await self._answers(client, messages):
            if text is not None:
                made += self._made(row, text)
        self.report.rows_out += len(made)
        return made

    async def _answers(self, client: ChatClient, messages: Messages) -> list[str | None]:
        """All samples at once; the first error ends the others."""
        try:
            async with asyncio.TaskGroup() as group:
                samples = range(self.teaching.samples)
                asked = [group.create_task(self._answered(client, messages, sample)) for sample in samples]
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [task.result() for task in asked]

    async def _answered(self, client: ChatClient, messages: Messages, sample: int) -> str | None:
        try:
            text = await client.answer(messages, sample=sample, accept=self.parse)
            self._failures = 0
            return text
        except ChatError as error:
            self._fail(error)
            return None

    def _fail(self, error: ChatError) -> None:
        """Count an answer that is left out, or raise SynthesisError: the same one, once everything has stopped."""
        self._failures += 1
        self._stopped = self._stopped or self._reason_to_stop(error)
        if self._stopped is not None:
            raise self._stopped
        self.report.dropped[str(error)] += 1

    def _reason_to_stop(self, error: ChatError) -> SynthesisError | None:
        about = f"{self.endpoint.model} at {self.endpoint.url}"
        said = f"{error} (after {error.attempts} attempts)" if error.attempts > 1 else str(error)
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
        missing = next((name for item in objects for name in self.teaching.required if item.get(name) in (None, "")), None)
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


async def _cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    pending = list(tasks)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)


def taught(teacher: Teacher, rows: Iterable[Fields]) -> Iterator[dict[str, Any]]:
    """`Teacher.rows` for code that is not asynchronous: answers arrive in a thread of their own.

    Rows are read in that thread. Raises as `Teacher.rows`.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="teacher", daemon=True)
    thread.start()
    answers = teacher.rows(rows)
    try:
        while True:
            following: Future[dict[str, Any] | None] = asyncio.run_coroutine_threadsafe(_next(answers), loop)
            row = following.result()
            if row is None:
                return
            yield row
    finally:
        asyncio.run_coroutine_threadsafe(answers.aclose(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _next(answers: AsyncIterator[dict[str, Any]]) -> dict[str, Any] | None:
    return await anext(answers, None)
