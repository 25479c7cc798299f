"""Rows into a Parquet file, in batches bounded by rows and by size, so that memory does not grow with the data.

The file appears under its own name only when it is complete. Bytes depend on the rows and on the version of pyarrow.
"""

from __future__ import annotations

import os
from contextlib import suppress
from io import BytesIO
from json import dumps as encode
from pathlib import Path
from typing import Any

BATCH_ROWS = 1024
BATCH_CHARACTERS = 16_000_000


class UnfitRowsError(Exception):
    """Rows whose images are of several kinds, which one column cannot hold."""


class ParquetSink:
    """One file that takes rows in verl's format. Use `add`, then `close`, then `publish` or `discard`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unfinished = path.with_name(f".{path.name}.part")
        self._batch: list[dict[str, Any]] = []
        self._characters = 0
        self._schema: Any = None
        self._writer: Any = None

    def add(self, row: dict[str, Any]) -> None:
        """Take one row. Raises `UnfitRowsError`."""
        self._batch.append(row)
        self._characters += _weight(row)
        if len(self._batch) >= BATCH_ROWS or self._characters >= BATCH_CHARACTERS:
            self._flush()

    def close(self) -> None:
        """Write what is left. Raises `UnfitRowsError`."""
        if self._batch:
            self._flush()
        if self._writer is not None:
            self._writer.close()

    def publish(self) -> Path:
        """Give the closed file its name."""
        os.replace(self.unfinished, self.path)
        return self.path

    def discard(self) -> None:
        """Leave nothing behind but what was published."""
        if self._writer is not None:
            with suppress(OSError):  # the disk that was full is still full
                self._writer.close()
        self.unfinished.unlink(missing_ok=True)

    def _flush(self) -> None:
        from pyarrow import ArrowException, parquet

        if self._writer is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._schema = _schema(self._batch)
            self._writer = parquet.ParquetWriter(self.unfinished, self._schema, compression="zstd", version="2.6")
        try:
            self._writer.write_table(_table(self._batch, self._schema))
        except (ArrowException, TypeError) as error:
            raise UnfitRowsError(" ".join(str(error).split())[:200]) from None
        finally:
            self._batch, self._characters = [], 0


def _table(batch: list[dict[str, Any]], schema: Any) -> Any:
    """Rows as a table. Text goes through Arrow's JSON reader: making arrays of Python objects would import pandas."""
    from pyarrow import Table, json

    if "images" in schema.names:
        return Table.from_pylist(batch, schema=schema)
    lines = "\n".join(encode(row, ensure_ascii=False) for row in batch).encode("utf-8")
    read = json.ReadOptions(use_threads=False, block_size=len(lines) + 1)
    return json.read_json(BytesIO(lines), read, json.ParseOptions(explicit_schema=schema)).select(schema.names)


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
