"""A model behind an OpenAI-compatible address, asked many things at once.

What a server does wrong is told apart by whether asking again can help. A lost connection, a time limit, 408, 409, 425,
429, a 5xx status, and a reply that is no chat completion are tried again, with growing pauses or the pause that
`Retry-After` asks for; another 4xx is final. 401, 403 and 404 are about all questions, so they stop everything. An
empty answer is a failure, never an answer. The key of the address is read from the environment when it is needed, goes
into one header and nowhere else.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from orbiter_spec.data.chat_cache import ChatCache

if TYPE_CHECKING:
    import httpx

Messages = list[dict[str, str]]
Accept = Callable[[str], object]
RETRIED: Final = frozenset({408, 409, 425, 429})
STOPPING: Final = frozenset({401, 403, 404})
REPLY_BYTES: Final = 8 * 1024 * 1024
LONGEST_PAUSE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """Where a model answers and how it is asked.

    `url` is the address up to `/v1`; `api_key_env` the name of an environment variable with the key (None: no key is
    sent). `timeout_seconds` is for one attempt as a whole, from connecting to the last byte. `attempts` counts the
    first one. `cache` is a file for answers (None: nothing is kept); with `offline` they are all that there is.
    """

    url: str
    model: str
    api_key_env: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    concurrency: int = 8
    requests_per_minute: float | None = None
    timeout_seconds: float = 120.0
    attempts: int = 5
    first_pause_seconds: float = 1.0
    cache: Path | None = None
    offline: bool = False
    extra: dict[str, Any] = field(default_factory=dict)

    def body(self, messages: Messages) -> dict[str, Any]:
        """The request for one answer."""
        named = {"temperature": self.temperature, "top_p": self.top_p, "max_tokens": self.max_tokens}
        given = {name: value for name, value in named.items() if value is not None}
        return {"model": self.model, "messages": messages, **given, **self.extra}


class ChatError(Exception):
    """A question without an answer, after so many attempts; `stops` when no other question would fare better."""

    def __init__(self, reason: str, *, attempts: int = 1, stops: bool = False, offline: bool = False) -> None:
        super().__init__(reason)
        self.attempts = attempts
        self.stops = stops
        self.offline = offline


class _AgainError(Exception):
    """Worth another attempt, after `pause` seconds where the server named a time."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


@dataclass
class ChatCounts:
    """What asking has cost so far: answers from the cache, requests sent, and attempts beyond the first."""

    cached: int = 0
    requests: int = 0
    retries: int = 0


class ChatClient:
    """Asks one endpoint; use it as an asynchronous context manager, within one event loop."""

    def __init__(self, endpoint: ChatEndpoint) -> None:
        self.endpoint = endpoint
        self.counts = ChatCounts()
        self._key = ""
        self._cache: ChatCache | None = None
        self._http: httpx.AsyncClient | None = None

    async def __aenter__(self) -> ChatClient:
        try:
            import httpx
            import tenacity  # noqa: F401
            from aiolimiter import AsyncLimiter
        except ImportError as error:
            raise ChatError(
                f"asking a model needs {error.name}: pip install 'orbiter-spec[data]'", stops=True
            ) from None
        headers = {} if self.endpoint.offline else self._headers()
        file = self.endpoint.cache
        self._cache = ChatCache(file) if file is not None and (file.exists() or not self.endpoint.offline) else None
        each_minute = self.endpoint.requests_per_minute
        self._limiter = AsyncLimiter(1, 60 / each_minute) if each_minute else None
        self._slots = asyncio.Semaphore(self.endpoint.concurrency)
        limits = httpx.Limits(max_connections=self.endpoint.concurrency)
        self._http = httpx.AsyncClient(timeout=self.endpoint.timeout_seconds, limits=limits, headers=headers)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._http is not None:
            await self._http.aclose()
        if self._cache is not None:
            self._cache.close()

    def recall(self, messages: Messages, *, sample: int = 0) -> str | None:
        """The kept answer, without asking."""
        return self._cache.get(self._asked(messages, sample)) if self._cache is not None else None

    async def answer(self, messages: Messages, *, sample: int = 0, accept: Accept | None = None) -> str:
        """The answer to `messages`; `sample` numbers different answers to the same question.

        `accept` raises ValueError for an answer that is of no use; it is then asked for again, and never kept.

        Raises:
            ChatError: when there is no answer after the last attempt, or asking again is in vain.
            OSError: when an answer cannot be kept.
        """
        kept = self.recall(messages, sample=sample)
        if kept is not None:
            self.counts.cached += 1
            return kept
        if self.endpoint.offline:
            raise ChatError("answer has not been asked for yet", stops=True, offline=True)
        async with self._slots:
            text = await self._persist(self.endpoint.body(messages), accept)
        if self._cache is not None:
            self._cache.put(self._asked(messages, sample), text)
        return text

    def _asked(self, messages: Messages, sample: int) -> dict[str, Any]:
        return {**self.endpoint.body(messages), "sample": sample}

    def _headers(self) -> dict[str, str]:
        name = self.endpoint.api_key_env
        if name is None:
            return {}
        key = os.environ.get(name, "").strip()
        if not key:
            raise ChatError(f"environment variable {name} holds no key for {self.endpoint.url}: set it", stops=True)
        if not key.isascii() or not key.isprintable():
            raise ChatError(f"environment variable {name} holds something that is no key", stops=True)
        self._key = key
        return {"Authorization": f"Bearer {key}"}

    def _without_key(self, text: str) -> str:
        """Servers may quote the key they refuse."""
        return text.replace(self._key, "***") if self._key else text

    async def _persist(self, body: dict[str, Any], accept: Accept | None) -> str:
        """Attempts until an answer, a final refusal, or the last one."""
        from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt
        from tenacity import wait_random_exponential as growing

        backoff = growing(multiplier=self.endpoint.first_pause_seconds, max=LONGEST_PAUSE_SECONDS)

        def pause(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            asked = error.pause if isinstance(error, _AgainError) else None
            return backoff(state) if asked is None else min(asked, LONGEST_PAUSE_SECONDS)

        attempts = stop_after_attempt(self.endpoint.attempts)
        retrying = AsyncRetrying(retry=retry_if_exception_type(_AgainError), stop=attempts, wait=pause, reraise=True)
        try:
            async for attempt in retrying:
                with attempt:
                    self.counts.retries += attempt.retry_state.attempt_number > 1
                    return _accepted(await self._once(body), accept)
        except _AgainError as error:
            raise ChatError(self._without_key(str(error)), attempts=self.endpoint.attempts) from None
        except ChatError as error:
            raise ChatError(self._without_key(str(error)), stops=error.stops) from None
        raise AssertionError("tenacity ends by an answer or an exception")

    async def _once(self, body: dict[str, Any]) -> str:
        import httpx

        if self._limiter is not None:
            await self._limiter.acquire()
        self.counts.requests += 1
        try:
            async with asyncio.timeout(self.endpoint.timeout_seconds):
                status, pause, raw = await self._send(body)
        except TimeoutError:
            raise _AgainError(f"no answer within {self.endpoint.timeout_seconds:g} seconds") from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ChatError(f"{self.endpoint.url} is no address: {error}", stops=True) from None
        except httpx.HTTPError as error:
            raise _AgainError(f"connection failed: {error or type(error).__name__}") from None
        if status != 200:
            _refuse(status, pause, raw)
        return _content(raw)

    async def _send(self, body: dict[str, Any]) -> tuple[int, float | None, bytes]:
        """Status, the pause asked for, and the reply up to `REPLY_BYTES`."""
        assert self._http is not None, "use the client as a context manager"
        url = f"{self.endpoint.url.rstrip('/')}/chat/completions"
        raw = b""
        async with self._http.stream("POST", url, json=body) as reply:
            async for block in reply.aiter_bytes():
                raw += block
                if len(raw) > REPLY_BYTES:
                    raise _AgainError(f"reply is larger than {REPLY_BYTES // 1024**2} MB")
            return reply.status_code, retry_after(reply.headers.get("Retry-After")), raw


def _accepted(text: str, accept: Accept | None) -> str:
    if accept is not None:
        try:
            accept(text)
        except ValueError as error:
            raise _AgainError(f"answer is of no use: {error}") from None
    return text


def retry_after(text: str | None) -> float | None:
    """Seconds that a `Retry-After` header asks for, as a number or a date; None when it is neither."""
    if not text:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _refuse(status: int, pause: float | None, raw: bytes) -> None:
    reason = f"status {status}{_said(raw)}"
    if status in RETRIED or status >= 500:
        raise _AgainError(reason, pause)
    raise ChatError(reason, stops=status in STOPPING)


def _said(raw: bytes) -> str:
    """What a server says about an error, in a few words."""
    try:
        error = json.loads(raw)["error"]
        text = str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return f": {' '.join(text.split())[:160]}"


def _content(raw: bytes) -> str:
    """The text of the first choice; a reply without any is worth another attempt."""
    try:
        reply = json.loads(raw)
        text = reply["choices"][0]["message"]["content"]
    except (ValueError, RecursionError):
        raise _AgainError("reply is not JSON") from None
    except (KeyError, IndexError, TypeError):
        raise _AgainError("reply is not a chat completion") from None
    if not isinstance(text, str) or not text.strip():
        raise _AgainError("answer is empty")
    return text.encode("utf-8", "replace").decode("utf-8")
