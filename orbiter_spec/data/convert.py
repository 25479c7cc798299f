"""One row of the user's as one row of verl's.

verl reads `data_source`, `prompt` (role and content messages), `reward_model.ground_truth` and `extra_info`. Parquet
has one type a column and users' rows have what they like, so the row's own fields travel as JSON text in
`extra_info.fields`, and an expected value that is not text as JSON in `extra_info.expected`; the reward function reads
both back. One schema then fits every row, and bytes do not depend on which rows came first.
"""

from __future__ import annotations

import base64
import datetime
import json
import math
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from orbiter_spec.data.columns import ABSENT, Resolved, look_up, resolve_columns, row_source, usual_source
from orbiter_spec.data.problems import Problems
from orbiter_spec.data.read import Row
from orbiter_spec.data.request import DatasetRequest, SourceRequest, TemplateRequest

if TYPE_CHECKING:
    from orbiter_spec.data.template import PromptError, PromptTemplate

TEMPLATE_FAILURES = 1
"""After so many rows that a template fails on, the others are not tried: they mostly fail for the same reason."""

VerlRow = dict[str, Any]
Messages = list[dict[str, str]]


class _UnfitError(Exception):
    """A row that cannot be used, with the reason."""


class Converter:
    """Turns rows into verl's, adding a problem for each that cannot be."""

    def __init__(self, request: DatasetRequest, problems: Problems) -> None:
        self._request = request
        self._problems = problems
        self._template_failures = 0
        self._prompt = self._compile(request.prompt)
        self._instructions = self._compile(request.instructions)
        self._resolved: dict[SourceRequest, Resolved | None] = {}
        self._by_names: dict[tuple[str, ...], Resolved] = {}
        self._last: tuple[SourceRequest | None, Resolved | None] = (None, None)

    @property
    def ready(self) -> bool:
        """Whether the templates could be compiled and have not failed too often."""
        return self._template_failures < TEMPLATE_FAILURES

    def usable(self, row: Row) -> bool:
        """Whether the file that `row` is from has the columns; decided by its first row."""
        return self._columns(row) is not None

    def _columns(self, row: Row) -> Resolved | None:
        """The columns of a row's file; the last one is known by identity, because comparing sources is slow."""
        if row.source is not self._last[0]:
            self._last = (row.source, self._resolve(row))
        return self._last[1]

    def _resolve(self, row: Row) -> Resolved | None:
        if row.source not in self._resolved:
            request = self._request
            self._resolved[row.source] = resolve_columns(
                request.columns,
                row,
                self._problems,
                needs_input=request.prompt is None,
                needs_expected=self._needs_expected(row, usual_source(request.columns, row)),
            )
        return self._resolved[row.source]

    def _needs_expected(self, row: Row, column: str | None) -> bool:
        """Whether a reward compares the row with its answer; `column` may say which source it is of."""
        wanted = self._request.expected_sources
        return self._request.needs_expected or (bool(wanted) and row_source(row, column) in wanted)

    def messages(self, row: Row) -> Messages | None:
        """The prompt of a row, or None with a problem added; columns are found in the row itself."""
        failed = len(self._problems.shown)
        names = tuple(row.fields)
        columns = self._by_names.get(names)
        if columns is None:
            self._resolved.pop(row.source, None)
            columns = self._resolve(row)
            if columns is None:
                return None
            if not any("." in name for name in _named(columns)):
                self._by_names[names] = columns
        try:
            messages = self._messages(row, columns)
        except _UnfitError as error:
            self._problems.add_row(row.source, "ORB416", str(error), row.number, row.line)
        return messages if len(self._problems.shown) == failed else None

    def convert(self, row: Row, index: int, split: str) -> VerlRow | None:
        """verl's row, or None with a problem added."""
        columns = self._columns(row)
        assert columns is not None
        try:
            converted = self._convert(row, columns, index, split)
            _check_text(converted)
            return converted
        except _UnfitError as error:
            self._problems.add_row(row.source, "ORB416", str(error), row.number, row.line)
        return None

    def check(self, row: Row) -> bool:
        """Whether the row has what its prompt and its answer are made of; no template is rendered."""
        columns = self._columns(row)
        assert columns is not None
        try:
            self._expected(row, columns)
            if self._chat(row, columns) is None and self._request.prompt is None:
                _input(row, columns)
            return True
        except _UnfitError as error:
            self._problems.add_row(row.source, "ORB416", str(error), row.number, row.line)
        return False

    def _convert(self, row: Row, columns: Resolved, index: int, split: str) -> VerlRow:
        expected = self._expected(row, columns)
        messages = self._messages(row, columns)
        typed = None if expected is None or isinstance(expected, str) else to_json(expected)
        kept = {name: value for name, value in row.fields.items() if name not in (columns.images, columns.chat)}
        converted: VerlRow = {
            "data_source": row_source(row, columns.source),
            "prompt": messages,
            "ability": _text_field(row.fields, "ability") or self._request.ability,
            "reward_model": {"style": "rule", "ground_truth": expected if typed is None else typed},
            "extra_info": {
                "index": index,
                "split": split,
                "source": row.source.label,
                "row": row.number,
                "prompt": next((item["content"] for item in reversed(messages) if item["role"] == "user"), None),
                "expected": typed,
                "fields": compact_json(kept),
            },
        }
        if columns.images is not None:
            converted["images"] = _images(row, columns.images)
        return converted

    def _expected(self, row: Row, columns: Resolved) -> Any:
        value = None if columns.expected is None else look_up(row.fields, columns.expected)
        if value is ABSENT or value is None:
            if "expected" in columns.named or self._needs_expected(row, columns.source):
                raise _UnfitError(f"row has no {columns.expected or 'expected answer'}")
            return None
        return value

    def _messages(self, row: Row, columns: Resolved) -> Messages:
        messages = self._chat(row, columns)
        if messages is None:
            text = self._render(self._prompt, self._request.prompt, row)
            messages = [{"role": "user", "content": _input(row, columns) if text is None else text}]
        instructions = self._render(self._instructions, self._request.instructions, row)
        if instructions and messages[0]["role"] != "system":
            messages = [{"role": "system", "content": instructions}, *messages]
        return messages

    def _chat(self, row: Row, columns: Resolved) -> Messages | None:
        """The row's own messages: the chat column, or an input column that holds some while there is no template."""
        name = columns.chat
        if name is None and self._prompt is None and columns.input is not None:
            name = columns.input if isinstance(look_up(row.fields, columns.input), list) else None
        if name is None:
            return None
        return _check_messages(look_up(row.fields, name), name)

    def _compile(self, template: TemplateRequest | None) -> PromptTemplate | None:
        if template is None:
            return None
        from orbiter_spec.data.template import PromptError, PromptTemplate

        try:
            return PromptTemplate(template.text)
        except PromptError as error:
            self._template_failures = TEMPLATE_FAILURES
            source = self._request.train[0]
            place = template.place or source.place
            self._problems.add(source, "ORB415", str(error), place=place, note=_line_note(error), help=error.help)
        return None

    def _render(self, template: PromptTemplate | None, request: TemplateRequest | None, row: Row) -> str | None:
        if template is None or request is None or not self.ready:
            return None if template is None else ""
        from orbiter_spec.data.template import PromptError

        try:
            text = template.render(row.fields)
        except PromptError as error:
            self._template_failures += 1
            self._problems.add_row(
                row.source, "ORB415", str(error), row.number, row.line, place=request.place, help=error.help
            )
            return ""
        return text


def _named(columns: Resolved) -> list[str]:
    return [name for name in (columns.input, columns.expected, columns.chat, columns.source, columns.images) if name]


def _line_note(error: PromptError) -> str:
    return f"line {error.line} of the template" if error.line is not None else ""


def _input(row: Row, columns: Resolved) -> str:
    value = ABSENT if columns.input is None else look_up(row.fields, columns.input)
    if value is ABSENT or value is None:
        raise _UnfitError(f"row has no {columns.input}")
    if isinstance(value, (str, int, float)):
        return str(value)
    raise _UnfitError(f"{columns.input} is a {type(value).__name__}, not text")


def _check_messages(value: Any, name: str) -> Messages:
    if not isinstance(value, list) or not value:
        raise _UnfitError(f"{name} is not a list of messages")
    for message in value:
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise _UnfitError(f"{name} holds something that is not a message with a role and a content")
        if not isinstance(message.get("content"), str):
            raise _UnfitError(f"{name} holds a message whose content is not text")
    return [{"role": message["role"], "content": message["content"]} for message in value]


def _text_field(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _images(row: Row, name: str) -> list[Any]:
    """Images as verl takes them: `{bytes}`, or an address as text.

    A local file, whose path starts at the data file, becomes its bytes: built rows need no other machine's folders.
    """
    value = look_up(row.fields, name)
    images = [] if value in (ABSENT, None) else value if isinstance(value, list) else [value]
    return [_image(image, row.source.path.parent, name) for image in images]


def _image(image: Any, folder: Path, name: str) -> Any:
    if isinstance(image, Mapping) and isinstance(image.get("bytes"), bytes):
        return {"bytes": image["bytes"]}
    text = image.get("path") if isinstance(image, Mapping) else image
    if not isinstance(text, str):
        raise _UnfitError(f"{name} holds something that is neither a path nor the bytes of an image")
    local = folder / text
    return {"bytes": local.read_bytes()} if "://" not in text and local.is_file() else text


def _check_text(row: VerlRow) -> None:
    """Text that UTF-8 cannot hold would stop the writer in the middle of a file."""
    info = row["extra_info"]
    texts = [message["content"] for message in row["prompt"]]
    texts += [info["fields"], info["expected"] or "", row["reward_model"]["ground_truth"] or "", row["data_source"]]
    try:
        "".join(texts).encode("utf-8")
    except UnicodeEncodeError:
        raise _UnfitError("row holds half of a surrogate pair, which is not text") from None


def to_json(value: Any) -> str:
    """JSON text of a value from any format; NaN and infinity become null, which JSON can hold."""
    try:
        return _ENCODER.encode(value)
    except ValueError:
        return _ENCODER.encode(_without_nan(value))


def compact_json(fields: Mapping[str, Any]) -> str:
    """The same of a whole row, without blanks and in a tenth of the time."""
    try:
        text = _FAST_ENCODER.encode(fields).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):  # such as keys that are not text
        return to_json(fields)
    return text if "NaN" not in text and "Infinity" not in text else to_json(fields)


def _to_plain(value: Any) -> Any:
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return str(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_to_plain)
_FAST_ENCODER = msgspec.json.Encoder(decimal_format="number", enc_hook=_to_plain)


def _without_nan(value: Any) -> Any:
    if isinstance(value, (float, Decimal)):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _without_nan(item) for key, item in value.items()}
    return [_without_nan(item) for item in value] if isinstance(value, (list, tuple)) else value
