"""What users' functions print, up to a limit for each part: a run's log is read by people."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

PRINTED_CHARACTERS = 64 * 1024

_speaker: ContextVar[str | None] = ContextVar("orbiter_reward_speaker", default=None)
_left: dict[str, int] = {}
_lock = threading.Lock()


@contextmanager
def speaking_for(name: str) -> Iterator[None]:
    """Count what is printed inside towards the part `name`."""
    token = _speaker.set(name)
    try:
        yield
    finally:
        _speaker.reset(token)


class Limited:
    """A text stream that lets each part print `PRINTED_CHARACTERS` and says once that it dropped the rest."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Pass `text` on as far as it may be printed; its whole length counts as written."""
        name = _speaker.get()
        if name is None:
            self._stream.write(text)  # Ray's streams do not say how much they took
            return len(text)
        with _lock:
            left = _left.setdefault(name, PRINTED_CHARACTERS)
            _left[name] = left - len(text)
        if left > 0:
            self._stream.write(text[:left])
        if left >= 0 > left - len(text):
            self._stream.write(
                f"\norbiter-spec: reward {name!r} printed more than {PRINTED_CHARACTERS // 1024} KB; "
                "the rest is dropped\n"
            )
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def limit_printing() -> None:
    """Put the limit on this process's output, once."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and type(stream).__name__ != Limited.__name__:
            setattr(sys, name, Limited(stream))
