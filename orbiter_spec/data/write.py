"""Rows into a Parquet file, in batches bounded by rows and by size, so that memory does not grow with the data.

The file appears under its own name only when it is complete. Bytes depend on the rows and on the version of pyarrow.
"""

from __future__ import annotations

import os
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec

BATCH_ROWS = 1024
BATCH_CHARACTERS = 16_000_000
GROUP_ROWS, GROUP_BYTES = 8192, 32_000_000
"""Tables are put together until they have so many rows or bytes."""


class UnfitRowsError(Exception):
    """Rows whose images are of several kinds, which one column cannot hold."""


class ParquetSink:
    """One file that takes rows in verl's format. Use `add`, then `close`, then `publish` or `discard`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unfinished = path.with_name(f".{path.name}.part")
        self._batch: list[dict[str, Any]] = []
        self._tables: list[Any] = []
        self._characters = 0
        self._schema: Any = None
        self._writer: Any = None

    def add(self, row: dict[str, Any]) -> None:
        """Take one row. Raises `UnfitRowsError`."""
        self._batch.append(row)
        self._characters += _weight(row)
        if len(self._batch) >= BATCH_ROWS or self._characters >= BATCH_CHARACTERS:
            self._flush()

    def add_table(self, table: Any) -> None:
        """Take rows as a table of verl's columns; not together with `add`."""
        self._tables.append(table)
        if (
            sum(len(one) for one in self._tables) >= GROUP_ROWS
            or sum(one.nbytes for one in self._tables) >= GROUP_BYTES
        ):
            self._flush_tables()

    def close(self) -> None:
        """Write what is left. Raises `UnfitRowsError`."""
        if self._batch:
            self._flush()
        if self._tables:
            self._flush_tables()
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

    def _flush_tables(self) -> None:
        from pyarrow import concat_tables

        if self._writer is None:
            self._open(self._tables[0].schema)
        whole = concat_tables(self._tables)
        self._writer.write_table(whole, row_group_size=max(1, len(whole)))
        self._tables = []

    def _open(self, schema: Any) -> None:
        from pyarrow import parquet

        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._schema = schema
        self._writer = parquet.ParquetWriter(self.unfinished, schema, compression="zstd", version="2.6")

    def _flush(self) -> None:
        from pyarrow import ArrowException

        if self._writer is None:
            self._open(_schema(self._batch))
        try:
            self._writer.write_table(_table(self._batch, self._schema))
        except (ArrowException, TypeError) as error:
            raise UnfitRowsError(" ".join(str(error).split())[:200]) from None
        finally:
            self._batch, self._characters = [], 0


def packed_table(rows: list[dict[str, Any]]) -> bytes:
    """Rows without images as bytes that `unpacked_table` reads, here or in another process."""
    import pyarrow

    table = _table(rows, _schema(rows))
    stream = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return bytes(stream.getvalue())


def unpacked_table(packed: bytes) -> Any:
    """The table that was packed."""
    import pyarrow

    with pyarrow.ipc.open_stream(packed) as reader:
        return reader.read_all()


def _table(batch: list[dict[str, Any]], schema: Any) -> Any:
    """Rows as a table. Text goes through Arrow's JSON reader: making arrays of Python objects would import pandas."""
    from pyarrow import Table, json

    if "images" in schema.names:
        return Table.from_pylist(batch, schema=schema)
    lines = msgspec.json.Encoder().encode_lines(batch)
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
