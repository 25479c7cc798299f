"""`length`: prompts within a number of tokens, measured as the model will read them.

A prompt is what the row will become: instructions, template and chat. Truncating shortens the text of the last user
message at its source, the input column (or the chat column), so that the row stays what its prompt was made of.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from orbiter_spec.data.columns import look_up
from orbiter_spec.data.convert import Converter, Messages
from orbiter_spec.data.pipeline import Batch, Context, StepError, row_name
from orbiter_spec.data.problems import Problems
from orbiter_spec.data.read import Row
from orbiter_spec.data.request import DatasetRequest, StepReport, StepRequest
from orbiter_spec.data.steps.augment import put
from orbiter_spec.data.steps.meaning import name_of
from orbiter_spec.data.tokenizing import PromptMeter, TokenizerError

VERL_PROMPT_TOKENS = 512
ATTEMPTS = 4


def make(request: StepRequest, context: Context) -> Length:
    """The step. Raises `StepError` where nothing says which tokenizer measures."""
    dataset = context.request
    if dataset is None or dataset.tokenizer is None:
        raise StepError("length: no model whose tokenizer could measure", id="ORB440", help="name one: agent.model")
    settings = request.settings
    return Length(
        PromptMeter(dataset.tokenizer),
        dataset,
        int(settings.get("max", dataset.prompt_tokens or VERL_PROMPT_TOKENS)),
        int(settings.get("min", 1)),
        str(settings.get("over", "drop")),
    )


@dataclass
class Length:
    """Bounds in tokens, both allowed, and what happens over the upper one."""

    meter: PromptMeter
    request: DatasetRequest
    max: int
    min: int
    over: str
    _problems: Problems = field(default_factory=Problems)
    _converter: Converter | None = None

    def apply(self, rows: Batch, report: StepReport) -> Batch:
        """Rows whose prompts fit, or were made to."""
        out: Batch = []
        for row, tokens in zip(rows, self._count([self._messages(row) for row in rows]), strict=True):
            if tokens < self.min:
                report.drop(f"prompt under {self.min} tokens", row_name(row))
            elif tokens <= self.max:
                out.append(row)
            elif (fitting := self._shortened(row, tokens)) is not None:
                report.changed += 1
                out.append(fitting)
            else:
                report.drop(f"prompt over {self.max} tokens", row_name(row))
        return out

    def _shortened(self, row: Row, tokens: int) -> Row | None:
        """The row with a prompt that fits; None when it is to be dropped or cannot be made to fit."""
        if self.over == "fail":
            raise StepError(
                f"length: prompt has {tokens} tokens and may have {self.max}, in {row_name(row)}",
                help="over: drop, truncate_left or truncate_right go on",
            )
        if self.over == "drop":
            return None
        side = self.over.removeprefix("truncate_")
        for _ in range(ATTEMPTS):
            shorter = self._without(row, tokens - self.max, side)
            if shorter is None:
                return None
            row = shorter
            (tokens,) = self._count([self._messages(row)])
            if tokens <= self.max:
                return row
        return None

    def _without(self, row: Row, tokens: int, side: str) -> Row | None:
        name = name_of("chat", row.fields, self.request.columns) or name_of("input", row.fields, self.request.columns)
        value = look_up(row.fields, name) if name is not None else None
        if name is None or not isinstance(value, (str, list)):
            return None
        shorter = self.meter.cut(value, tokens, side) if isinstance(value, str) else self._cut_chat(value, tokens, side)
        return replace(row, fields=put(row.fields, name, shorter)) if shorter else None

    def _cut_chat(self, messages: list[Any], tokens: int, side: str) -> list[Any] | None:
        last = max((index for index, item in enumerate(messages) if item.get("role") == "user"), default=None)
        if last is None:
            return None
        text = self.meter.cut(messages[last]["content"], tokens, side)
        return [*messages[:last], {**messages[last], "content": text}, *messages[last + 1 :]] if text else None

    def _count(self, prompts: list[Messages]) -> list[int]:
        try:
            return self.meter.count(prompts) if prompts else []
        except TokenizerError as error:
            raise StepError(f"length: {error}", id=error.id, note=error.note, help=error.help) from None

    def _messages(self, row: Row) -> Messages:
        if self._converter is None:
            self._converter = Converter(self.request, self._problems)
        messages = self._converter.messages(row)
        if messages is None:
            found = self._problems.shown[-1]
            raise StepError(f"length: {found.message}", id=found.id, note=found.note, help=found.help)
        return messages
