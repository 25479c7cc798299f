"""Rows into one Parquet file, in batches bounded by rows and by size, so that memory does not grow with the data.

The file appears under its own name only when it is complete. Bytes depend on the rows and on the version of pyarrow.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

BATCH_ROWS = 1024
BATCH_CHARACTERS = 16_000_000


class UnfitRowsError(Exception):
    """Rows whose images are of several kinds, which one column cannot hold."""


def write_parquet(rows: Iterable[dict[str, Any]], path: Path) -> int:
    """Write `rows` to a file beside `path`, to be put in place by `publish`; the number of rows.

    Raises `UnfitRowsError`.
    """
    from pyarrow import ArrowException, RecordBatch, parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    writer = schema = None
    try:
        for batch in _batches(rows):
            schema = schema or _schema(batch)
            writer = writer or parquet.ParquetWriter(unfinished(path), schema, compression="zstd", version="2.6")
            writer.write_batch(RecordBatch.from_pylist(batch, schema=schema))
            count += len(batch)
    except (ArrowException, TypeError) as error:
        raise UnfitRowsError(" ".join(str(error).split())[:200]) from None
    finally:
        if writer is not None:
            writer.close()
    return count


def unfinished(path: Path) -> Path:
    """The name that a file has until `publish`."""
    return path.with_name(f".{path.name}.part")


def publish(path: Path, *, keep: bool) -> None:
    """Give the finished file its name, or remove it."""
    if keep:
        os.replace(unfinished(path), path)
    else:
        unfinished(path).unlink(missing_ok=True)


def _batches(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    characters = 0
    for row in rows:
        batch.append(row)
        characters += _weight(row)
        if len(batch) >= BATCH_ROWS or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _weight(row: dict[str, Any]) -> int:
    images = row.get("images") or []
    return (
        len(row["extra_info"]["fields"])
        + sum(len(message["content"]) for message in row["prompt"])
        + sum(len(image["bytes"]) for image in images if isinstance(image, dict))
    )


def _schema(batch: list[dict[str, Any]]) -> Any:
    """verl's columns; images are bytes or addresses, by the first row that has any."""
    import pyarrow as pa

    text = pa.string()
    info = {name: text for name in ("split", "source", "prompt", "expected", "fields")}
    columns = {
        "data_source": text,
        "prompt": pa.list_(pa.struct({"role": text, "content": text})),
        "ability": text,
        "reward_model": pa.struct({"style": text, "ground_truth": text}),
        "extra_info": pa.struct({"index": pa.int64(), "row": pa.int64(), **info}),
    }
    if "images" in batch[0]:
        first = next((image for row in batch for image in row["images"]), "")
        columns["images"] = pa.list_(text if isinstance(first, str) else pa.struct({"bytes": pa.binary()}))
    return pa.schema(columns)
