"""JSON lines, one at a time: memory is bounded by the longest line, and that by `LINE_BYTES`.

JSON is read as the standard has it: NaN and Infinity are refused, because no reward can compare with them and no other
reader of the file would take them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO, NoReturn

import msgspec

from orbiter_spec.data.problems import Line, Problems
from orbiter_spec.data.request import SourceRequest

LINE_BYTES = 32 * 1024 * 1024
BOM = b"\xef\xbb\xbf"

Fields = dict[str, object]

FAST = msgspec.json.Decoder()
"""Refuses more than the standard library does, and what it takes it reads as that does, in a fifth of the time."""


def read_jsonl(
    source: SourceRequest, stream: BinaryIO, problems: Problems, stop_at: float = math.inf
) -> Iterator[tuple[int, Fields, Line]]:
    """Row number, fields and line of each good row; problems of the others are added. Blank lines are no rows.

    Stops before a line that begins after `stop_at` bytes.
    """
    row = number = position = 0
    while position < stop_at and (raw := stream.readline(LINE_BYTES + 1)):
        number += 1
        position += len(raw)
        if len(raw) > LINE_BYTES:
            position += _skip_line(stream, raw)
            line = Line(number, raw[:200].decode("utf-8", "replace"))
            message = f"line is longer than {LINE_BYTES // 1024**2} MB"
            problems.add_row(source, "ORB412", message, row + 1, line, help="write one JSON object on each line")
            row += 1
            continue
        raw = raw.removeprefix(BOM) if number == 1 else raw
        if not raw.strip():
            continue
        row += 1
        if b"\0" in raw and number == 1:
            problems.add(source, "ORB412", f"{source.label} is not text", help="name a JSONL or Parquet file")
            return
        fields = _parse(source, raw.rstrip(b"\r\n"), row, number, problems)
        if fields is not None:
            yield row, fields, Line(number, _head(raw))


def _skip_line(stream: BinaryIO, raw: bytes) -> int:
    """Read up to the end of a line that is too long; bytes skipped."""
    skipped = 0
    while raw and not raw.endswith(b"\n"):
        raw = stream.readline(1024 * 1024)
        skipped += len(raw)
    return skipped


def _head(raw: bytes) -> str:
    return raw[:600].decode("utf-8", "replace").rstrip("\r\n")


def _parse(source: SourceRequest, raw: bytes, row: int, number: int, problems: Problems) -> Fields | None:
    column, note, help = 1, "", "write one JSON object on each line"
    with suppress(ValueError, RecursionError):  # what it refuses is looked at again, to say why
        quick = FAST.decode(raw)
        if isinstance(quick, dict):
            return quick
    try:
        value = _DECODER.decode(raw.decode("utf-8"))
        if isinstance(value, dict):
            return _refuse_surrogates(value, raw)
        message = f"line holds {_KINDS.get(type(value), 'a value')}, not an object"
    except UnicodeDecodeError as error:
        column = len(raw[: error.start].decode("utf-8", "replace")) + 1
        message, note, help = "line is not UTF-8", f"byte 0x{raw[error.start]:02x}", "save the file as UTF-8"
    except json.JSONDecodeError as error:
        column, message, note = error.colno, "line is not JSON", _explain(error, raw)
    except RecursionError:
        message = "line is nested too deeply"
    except ValueError as error:
        message, note = "line is not JSON", str(error)
    problems.add_row(source, "ORB412", message, row, Line(number, _head(raw)), column=column, note=note, help=help)
    return None


_KINDS = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false", type(None): "null"}


def _explain(error: json.JSONDecodeError, raw: bytes) -> str:
    if b"\0" in raw:
        return "the line holds a NUL byte"
    if error.pos >= len(error.doc.rstrip()):
        return "the line ends too early"
    return error.msg[:1].lower() + error.msg[1:]


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON; use null, or leave the field out")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _refuse_surrogates(value: Fields, raw: bytes) -> Fields:
    """Half of a surrogate pair is fine in JSON and in no UTF-8 file that could be written from it."""
    if b"\\ud" in raw or b"\\uD" in raw:
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("a \\u escape is half of a surrogate pair") from None
    return value
