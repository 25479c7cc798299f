"""`synthesize`: a teacher model behind an OpenAI-compatible address writes what rows lack, or new rows.

Answers are kept in a file beside the spec, so that a rerun costs nothing and a build that was killed goes on. What the
teacher makes of a row keeps the row's source and number.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from orbiter_spec.data.chat_client import ChatEndpoint, ChatError
from orbiter_spec.data.pipeline import Batch, Context, Rows, StepError, row_name
from orbiter_spec.data.read import Row
from orbiter_spec.data.request import StepReport, StepRequest
from orbiter_spec.data.synthesis import Fields, SynthesisError, Taught, Teacher, Teaching, taught

CACHE = Path(".orbiter", "answers.sqlite")
WAITING, FAILED = "ORB460", "ORB461"
_ENDPOINT = (
    "url",
    "model",
    "api_key_env",
    "temperature",
    "top_p",
    "max_tokens",
    "concurrency",
    "requests_per_minute",
    "timeout_seconds",
    "attempts",
)
_TEACHING = ("prompt", "instructions", "format", "write", "samples", "keep", "on_error")


def make(request: StepRequest, context: Context) -> Synthesize:
    """The step; nothing is asked yet. Raises StepError for templates that cannot be used."""
    settings = request.settings
    file = settings.get("cache")
    cache = context.folder / file if file else (context.cache or context.folder) / CACHE
    endpoint = ChatEndpoint(
        **_chosen(settings, _ENDPOINT), cache=cache, offline=context.offline, extra=dict(settings.get("args") or {})
    )
    teaching = Teaching(**_chosen(settings, _TEACHING), required=tuple(settings.get("required") or ()))
    try:
        return Synthesize(Teacher(endpoint, teaching))
    except SynthesisError as error:
        raise StepError(f"synthesize: {error}", id=FAILED, help=error.help) from None


def _chosen(settings: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: settings[name] for name in names if name in settings}


@dataclass
class Synthesize:
    """One teacher."""

    teacher: Teacher

    def stream(self, batches: Iterator[Rows], report: StepReport) -> Iterator[Rows]:
        """What the teacher makes of the rows. Raises StepError when it cannot go on."""
        waiting: deque[Row] = deque()

        def asked() -> Iterator[Fields]:
            for row in chain.from_iterable(batches):
                waiting.append(row)
                yield row.fields

        try:
            with closing(taught(self.teacher, asked())) as answers:
                for row, made in ((waiting.popleft(), one) for one in answers):
                    yield _said(row, made, report)
        except SynthesisError as error:
            raise StepError(str(error), id=WAITING if error.waits else FAILED, help=error.help) from None
        except ChatError as error:
            raise StepError(str(error), id=FAILED) from None


def _said(row: Row, made: Taught, report: StepReport) -> Batch:
    """The rows that one row became, with what was left out said to the report."""
    for reason in made.dropped:
        report.drop(reason, row_name(row))
    report.added += len(made.rows) + len(made.dropped) - 1
    return [replace(row, fields=fields, copy=number) for number, fields in enumerate(made.rows)]
