"""Why a sample failed, kept in the process where it was seen.

verl's agent loop worker logs the exception of a sample and reports only that its prompt failed. A handler on that
logger keeps the first exception, with the remote traceback that Ray puts in it, until the sampler asks for it.
"""

from __future__ import annotations

import logging
import traceback
from typing import Any


class FirstError(logging.Handler):
    """Remembers the first logged exception of this process."""

    def __init__(self) -> None:
        super().__init__(level=logging.ERROR)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the record's exception if it is the first."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not self.text:
            self.text = "".join(traceback.format_exception_only(error)).strip()


FIRST_ERROR = FirstError()


def first_error(_worker: Any) -> str:
    """What `FIRST_ERROR` of this process holds; sent to a worker with Ray's `__ray_call__`."""
    return FIRST_ERROR.text
