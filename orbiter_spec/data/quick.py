"""What a quick check reads of a large file, and how its rows are counted all the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from orbiter_spec.data.opening import is_compressed, suffix_of
from orbiter_spec.data.request import SourceRequest
from orbiter_spec.data.run_records import RunRecordsError, record_files

QUICK_BYTES = 10_000_000
"""So much of each file is read; of a larger Parquet file `QUICK_PARQUET_ROWS`."""
QUICK_PARQUET_ROWS = 2_000
QUICK_RENDERED_ROWS = 200


def is_cut(source: SourceRequest) -> bool:
    """Whether a quick check leaves a part of the file unread, as far as its size tells."""
    return _size(source) > QUICK_BYTES


def _size(source: SourceRequest) -> int:
    """Bytes that hold the rows; 0 for what is not there."""
    if source.run is not None:
        try:
            return sum(path.stat().st_size for path in record_files(source.path, source.run.split))
        except RunRecordsError:
            return 0
    return source.path.stat().st_size if source.path.is_file() else 0


def quick_source(source: SourceRequest, *, few: bool = False) -> SourceRequest:
    """The part of the file that a quick check reads; only its first rows where `few` are enough."""
    if few:
        return replace(source, limit=min(source.limit or QUICK_RENDERED_ROWS, QUICK_RENDERED_ROWS))
    if source.run is not None or suffix_of(source.path) != ".parquet" or not is_cut(source):
        return source
    return replace(source, limit=min(source.limit or QUICK_PARQUET_ROWS, QUICK_PARQUET_ROWS))


def can_count(source: SourceRequest) -> bool:
    """Whether rows can be counted without being read; a line of CSV may be part of a row, an answer not the best."""
    readable = suffix_of(source.path) not in (".csv", ".arrow") and not is_compressed(source.path)
    return source.run is None and source.hub is None and readable


def count_rows(source: SourceRequest, seen: int) -> int:
    """Rows of a file of which a quick check has read `seen`, up to its limit; where not `can_count`, an estimate."""
    if not is_cut(source) or not seen:
        return seen
    if source.run is None and suffix_of(source.path) == ".parquet":
        from pyarrow import parquet

        rows = int(parquet.read_metadata(source.path).num_rows)
    elif source.run is None and suffix_of(source.path) == ".json":
        rows = seen
    elif can_count(source):
        rows = _count_lines(source.path)
    else:
        rows = round(seen * _size(source) / QUICK_BYTES)
    return min(rows, source.limit or rows)


def _count_lines(path: Path) -> int:
    """Lines of a text file; about a second for each gigabyte."""
    count, last = 0, b"\n"
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            count += block.count(b"\n")
            last = block[-1:]
    return count + (last != b"\n")
