"""`metrics.parquet`: the same records as `metrics.jsonl`, as columns.

One row a step, `step` as an integer and every metric as a float, null where a step did not measure it. It is written
when a run ends; while it goes on `metrics.jsonl` is the one to follow.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from orbiter_spec.launch.metrics import Record


def write_parquet(path: Path, records: Sequence[Record]) -> None:
    """Replace `path` by `records` in one move.

    Raises:
        OSError: when the disk refuses.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = sorted({name for record in records for name in record} - {"step"})
    columns = {"step": pa.array([int(record["step"]) for record in records], pa.int64())}
    columns |= {name: pa.array([record.get(name) for record in records], pa.float64()) for name in names}
    stage = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        pq.write_table(pa.table(columns), stage)
        os.replace(stage, path)
    finally:
        with contextlib.suppress(OSError):
            stage.unlink()
