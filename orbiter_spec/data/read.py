"""Rows of a file, one after the other, whatever its format: the suffix decides.

JSONL and CSV are read line by line (also through gzip), Parquet batch by batch, a JSON array as a whole. Nothing is
raised for what a file holds: a row that cannot be read is a problem and is passed over.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from orbiter_spec.data.jsonl import BOM, Fields, read_jsonl
from orbiter_spec.data.problems import Line, Problems
from orbiter_spec.data.request import SourceRequest
from orbiter_spec.data.run_records import RunRecordsError, read_run
from orbiter_spec.diagnostics import nearest

JSON_ARRAY_BYTES = 256 * 1024 * 1024
PARQUET_BATCH_ROWS = 256
FORMATS = (".jsonl", ".ndjson", ".parquet", ".json", ".csv")
FORMAT_HELP = "use JSONL, Parquet, CSV or a JSON array (.jsonl, .parquet, .csv, .json; each text format also as .gz)"


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
    except (OSError, EOFError, zlib.error) as error:
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
    if source.run is not None:
        return True
    if not path.exists():
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


def suffix_of(path: Path) -> str:
    """The suffix that decides the format, in lower case and without .gz."""
    return (Path(path.stem) if path.suffix.lower() == ".gz" else path).suffix.lower()


def _read(source: SourceRequest, problems: Problems, stop_at: float) -> Iterator[tuple[int, Fields, Line | None]]:
    suffix = suffix_of(source.path)
    if source.run is not None:
        for number, fields in enumerate(read_run(source.path, source.run, stop_at), start=1):
            yield number, fields, None
        return
    if suffix == ".parquet":
        yield from _read_parquet(source, problems)
        return
    with _open(source.path) as stream:
        if suffix == ".csv":
            yield from _read_csv(source, stream, problems, stop_at)
        elif suffix == ".json" and _starts_with_bracket(stream):
            yield from _read_array(source, stream, problems)
        else:
            yield from read_jsonl(source, stream, problems, stop_at)


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb")


def _starts_with_bracket(stream: BinaryIO) -> bool:
    head = stream.read(4096).removeprefix(BOM).lstrip()
    stream.seek(0)
    return head.startswith(b"[")


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


def _read_parquet(source: SourceRequest, problems: Problems) -> Iterator[tuple[int, Fields, None]]:
    import pyarrow
    from pyarrow import parquet

    number = 0
    try:
        with parquet.ParquetFile(source.path) as file:
            for batch in file.iter_batches(batch_size=PARQUET_BATCH_ROWS):
                for fields in batch.to_pylist():
                    number += 1
                    yield number, fields, None
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        where = f" after row {number}" if number else ""
        help = "write the file again; an interrupted copy ends early"
        problems.add(
            source, "ORB414", f"{source.label} is not a readable Parquet file{where}", note=_reason(error), help=help
        )


def _reason(error: BaseException) -> str:
    text: Any = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())[:200]
