"""The files that hold a source's rows."""

from __future__ import annotations

from pathlib import Path

from orbiter_spec.data.request import SourceRequest
from orbiter_spec.data.run_records import RunRecordsError, compiled_rows, record_files


def source_files(source: SourceRequest) -> list[Path]:
    """The file itself, or the records of a run; nothing where a run has none."""
    if source.hub is not None:
        return []
    if source.run is None:
        return [source.path]
    try:
        return [*record_files(source.path, source.run.split), *compiled_rows(source.path)]
    except RunRecordsError:
        return []
