"""Questions to a server that may be slow, busy or broken: tries, waits and what is said when it stays that way.

A try fails when the connection fails, when it takes longer than `seconds`, when the status asks for another try (408,
409, 425, 429 and 5xx), or when the answer is not what `read` can use. Between tries it waits as long as Retry-After
says (up to `LONGEST_WAIT_SECONDS`) or twice as long as the last time, with a random part so that many do not return at
once. Any other status is the server's last word. Headers, where keys are, are never part of a message.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from .errors import CallError, short
from .loading import need
from .watch import LIBRARY_LOOP

AGAIN = frozenset({408, 409, 425, 429})
FIRST_WAIT_SECONDS = 0.5
LONGEST_WAIT_SECONDS = 60.0
ANSWER_BYTES = 8 * 1024 * 1024


class UnusableError(ValueError):
    """An answer that came and cannot be used; another try may give a better one."""


class Reply(NamedTuple):
    """What `read` made of the answer, and how many tries it took."""

    value: Any
    tries: int


@dataclass
class Server:
    """What is asked of one kind of address. Used on one event loop only; `proxies` takes those of the environment."""

    asker: str
    at_once: int
    seconds: float
    tries: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    proxies: bool = False
    _session: Any = None
    _turns: asyncio.Semaphore | None = None

    def check(self) -> None:
        """Raises ValueError when the library that this needs is missing."""
        need("aiohttp", "aiohttp", self.asker)

    async def ask(self, url: str, body: Mapping[str, Any], read: Callable[[Any], Any]) -> Reply:
        """POST `body` as JSON. Raises CallError when the last try failed or the server refuses."""
        self._turns = self._turns or asyncio.Semaphore(self.at_once)
        said, wait = "", FIRST_WAIT_SECONDS
        for attempt in range(1, self.tries + 1):
            async with self._turns:
                try:
                    return Reply(read(await self._post(url, body)), attempt)
                except _AgainError as error:
                    said, asked = str(error), error.wait
                except UnusableError as error:
                    said, asked = str(error), None
            if attempt < self.tries:
                await asyncio.sleep(asked if asked is not None else wait * random.uniform(0.5, 1.0))
                wait = min(2 * wait, LONGEST_WAIT_SECONDS)
        tries = f"after {self.tries} tries" if self.tries > 1 else "at the only try"
        raise CallError(f"got no answer from {place(url)} {tries}: {said}")

    async def _post(self, url: str, body: Mapping[str, Any]) -> Any:
        aiohttp = need("aiohttp", "aiohttp", self.asker)
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=self.at_once)
            self._session = aiohttp.ClientSession(
                connector=connector, headers=dict(self.headers), trust_env=self.proxies
            )
            atexit.register(_close, self._session)
        limit = aiohttp.ClientTimeout(total=self.seconds)
        try:
            async with self._session.post(url, json=body, timeout=limit) as answer:
                data = await answer.content.read(ANSWER_BYTES + 1)
                while len(data) <= ANSWER_BYTES and (more := await answer.content.read(ANSWER_BYTES)):
                    data += more
                status, asked = answer.status, answer.headers.get("Retry-After")
        except TimeoutError:
            raise _AgainError(f"took longer than {self.seconds:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _AgainError(short(f"{type(error).__name__}: {error}", 200)) from None
        if status in AGAIN or status >= 500:
            raise _AgainError(f"status {status}: {excerpt(data)}", retry_after(asked))
        if status >= 300:
            raise CallError(f"was refused by {place(url)}: status {status}: {excerpt(data)}")
        if len(data) > ANSWER_BYTES:
            raise UnusableError(f"answered more than {ANSWER_BYTES // 1024**2} MB")
        try:
            return json.loads(data)
        except ValueError:
            raise UnusableError(f"answered what is not JSON: {excerpt(data)}") from None


def _close(session: Any) -> None:
    """Leave without aiohttp's complaints; a loop that does not answer any more is not waited for."""
    with contextlib.suppress(Exception):
        LIBRARY_LOOP.submit(session.close()).result(1.0)


class _AgainError(Exception):
    def __init__(self, said: str, wait: float | None = None) -> None:
        super().__init__(said)
        self.wait = wait


def retry_after(value: str | None, now: float | None = None) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or a date, within `LONGEST_WAIT_SECONDS`."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - (time.time() if now is None else now)
        except (TypeError, ValueError):
            return None
    return min(max(seconds, 0.0), LONGEST_WAIT_SECONDS) if seconds == seconds else None


def excerpt(data: bytes) -> str:
    """The start of an answer, for a message."""
    return short(data[:400].decode("utf-8", "replace"), 160) or "nothing"


def place(url: str) -> str:
    """An address without what may be secret in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
