"""Rows of a file, one after the other, whatever its format: the suffix decides.

JSONL and CSV are read line by line (also compressed), Parquet and Arrow batch by batch, a JSON array as a whole.
Nothing is raised for what a file holds: a row that cannot be read is a problem and is passed over.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from orbiter_spec.data.jsonl import BOM, Fields, read_jsonl
from orbiter_spec.data.opening import BROKEN, FORMAT_HELP, FORMATS, is_pattern, open_bytes, suffix_of
from orbiter_spec.data.problems import Line, Problems
from orbiter_spec.data.request import HubRequest, SourceRequest
from orbiter_spec.data.run_records import RunRecordsError, read_run
from orbiter_spec.diagnostics import nearest

JSON_ARRAY_BYTES = 256 * 1024 * 1024
PARQUET_BATCH_ROWS = 256


@dataclass(slots=True)
class Row:
    """One row: its number in the file from one, its fields, and its line where the format has lines.

    A row that a step made from another one keeps its source and number; `copy` tells them apart, from one. `mark` is
    what a step has worked out about the row for its own use.
    """

    source: SourceRequest
    number: int
    fields: Fields
    line: Line | None = None
    copy: int = 0
    mark: bytes = b""

    def __reduce__(self) -> tuple[Any, ...]:
        return Row, (self.source, self.number, self.fields, self.line, self.copy, self.mark)


def read_rows(source: SourceRequest, problems: Problems, *, stop_at: float = math.inf) -> Iterator[Row]:
    """The good rows of `source` up to its limit; text formats stop after about `stop_at` bytes."""
    if not check_file(source, problems):
        return
    limit = math.inf if source.limit is None else source.limit
    try:
        for number, fields, line in _read(source, problems, stop_at):
            yield Row(source, number, fields, line)
            if number >= limit:
                return
    except RunRecordsError as error:
        problems.add(source, "ORB462", str(error), help="name the folder of a run that recorded its answers")
    except BROKEN as error:
        problems.add(source, "ORB414", f"{source.label} cannot be read to its end: {_reason(error)}")


def check_file(source: SourceRequest, problems: Problems) -> bool:
    """Whether the file is there, is a file and has a known format; adds the problem if not."""
    try:
        return _check_file(source, problems)
    except (OSError, ValueError) as error:  # a name no file can have, or a folder that is closed to us
        problems.add(source, "ORB410", f"dataset file cannot be looked up: {source.label[:200]}", note=_reason(error))
        return False


def _check_file(source: SourceRequest, problems: Problems) -> bool:
    path = source.path
    if source.run is not None or source.hub is not None:
        return True
    if is_pattern(path):
        help = "patterns are relative to the file that names them; ** goes through folders"
        problems.add(source, "ORB410", f"no file matches {source.label}", help=help)
    elif not path.exists():
        siblings = [item.name for item in path.parent.iterdir()] if path.parent.is_dir() else []
        close = nearest(path.name, siblings)
        help = f"did you mean {close}?" if close else "paths are relative to the file that names them"
        problems.add(source, "ORB410", f"dataset file does not exist: {source.label}", help=help)
    elif not path.is_file():
        problems.add(source, "ORB410", f"dataset is not a file: {source.label}", help="name the files in the folder")
    elif suffix_of(path) not in FORMATS:
        problems.add(source, "ORB417", f"dataset format is not known: {path.name}", help=FORMAT_HELP)
    else:
        return True
    return False


def _read(source: SourceRequest, problems: Problems, stop_at: float) -> Iterator[tuple[int, Fields, Line | None]]:
    suffix = suffix_of(source.path)
    if source.run is not None:
        for number, fields in enumerate(read_run(source.path, source.run, stop_at), start=1):
            yield number, fields, None
        return
    if source.hub is not None:
        yield from _read_hub(source, source.hub, problems)
        return
    if suffix in (".parquet", ".arrow"):
        yield from _read_columns(source, suffix, problems)
        return
    with open_bytes(source.path) as stream:
        if suffix == ".csv":
            yield from _read_csv(source, stream, problems, stop_at)
        elif suffix == ".json" and starts_with_bracket(stream):
            yield from _read_array(source, stream, problems)
        else:
            yield from read_jsonl(source, stream, problems, stop_at)


def starts_with_bracket(stream: BinaryIO) -> bool:
    """Whether the text that comes is a JSON array; nothing is read away."""
    head: bytes = stream.peek(4096)  # type: ignore[attr-defined]
    return head.removeprefix(BOM).lstrip().startswith(b"[")


def _read_array(source: SourceRequest, stream: BinaryIO, problems: Problems) -> Iterator[tuple[int, Fields, None]]:
    raw = stream.read(JSON_ARRAY_BYTES + 1)
    if len(raw) > JSON_ARRAY_BYTES:
        message = f"JSON array is larger than {JSON_ARRAY_BYTES // 1024**2} MB"
        problems.add(source, "ORB412", f"{message}: {source.label}", help="write one object on each line, as JSONL")
        return
    try:
        rows = json.loads(raw.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        line = Line(error.lineno, error.doc.splitlines()[error.lineno - 1] if error.doc.splitlines() else "")
        problems.add_row(source, "ORB412", "file is not JSON", 1, line, column=error.colno, note=error.msg.lower())
        return
    except (ValueError, RecursionError) as error:
        problems.add(source, "ORB412", f"{source.label} is not JSON: {_reason(error)}")
        return
    for number, fields in enumerate(rows, start=1):
        if isinstance(fields, dict):
            yield number, fields, None
        else:
            problems.add_row(source, "ORB412", "item is not an object", number, None)


def _read_csv(
    source: SourceRequest, stream: BinaryIO, problems: Problems, stop_at: float
) -> Iterator[tuple[int, Fields, Line]]:
    csv.field_size_limit(32 * 1024 * 1024)
    reader = csv.reader(io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""), strict=True)
    header: list[str] = []
    number = length = 0
    try:
        for values in reader:
            if not values:
                continue
            if not header:
                header = values
                continue
            number += 1
            length += sum(map(len, values)) + len(values)
            line = Line(reader.line_num, ",".join(values)[:600])
            if len(values) == len(header):
                yield number, dict(zip(header, values, strict=True)), line
            else:
                message = f"line has {len(values)} values and the header {len(header)} names"
                problems.add_row(source, "ORB412", message, number, line)
            if length > stop_at:
                return
    except (csv.Error, UnicodeDecodeError) as error:
        line = Line(reader.line_num + 1, "")
        problems.add_row(source, "ORB412", "line is not CSV", number + 1, line, note=_reason(error))


def _read_columns(source: SourceRequest, suffix: str, problems: Problems) -> Iterator[tuple[int, Fields, None]]:
    """Rows of a Parquet file, or of an Arrow stream such as the `datasets` library saves."""
    import pyarrow

    number = 0
    try:
        for batch in _parquet_batches(source.path) if suffix == ".parquet" else _arrow_batches(source.path):
            for fields in batch.to_pylist():
                number += 1
                yield number, fields, None
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        where = f" after row {number}" if number else ""
        kind = "Parquet" if suffix == ".parquet" else "Arrow"
        help = "write the file again; an interrupted copy ends early"
        message = f"{source.label} is not a readable {kind} file{where}"
        problems.add(source, "ORB414", message, note=_reason(error), help=help)


def _parquet_batches(path: Path) -> Iterator[Any]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        yield from file.iter_batches(batch_size=PARQUET_BATCH_ROWS)


def _arrow_batches(path: Path) -> Iterator[Any]:
    from pyarrow import OSFile, ipc

    with OSFile(str(path)) as file, ipc.open_stream(file) as reader:
        yield from reader


def _read_hub(source: SourceRequest, hub: HubRequest, problems: Problems) -> Iterator[tuple[int, Fields, None]]:
    """Rows of a Hugging Face dataset, from its cache or the hub, through the `datasets` library."""
    try:
        from datasets import load_dataset

        rows = load_dataset(hub.name, hub.config, split=hub.split).with_format("arrow")
    except ImportError:
        problems.add(
            source, "ORB449", f"{hub.name} needs the datasets library", help="pip install 'orbiter-spec[data]'"
        )
        return
    except Exception as error:  # whatever the library and the network raise
        help = "check name, config and split, or save the dataset to a folder and name that"
        message = f"Hugging Face dataset {hub.name} cannot be loaded"
        problems.add(source, "ORB449", message, note=_reason(error), help=help)
        return
    number = 0
    for table in rows.iter(PARQUET_BATCH_ROWS):
        for fields in table.to_pylist():
            number += 1
            yield number, fields, None


def _reason(error: BaseException) -> str:
    text: Any = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())[:200]
