"""Runs as a table: one row a run, with what people look for first."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orbiter_spec.launch.metrics import Record, parse_line
from orbiter_spec.launch.progress import duration
from orbiter_spec.launch.reading import read
from orbiter_spec.launch.run_folder import RunSummary, list_runs

TAIL_BYTES = 256 << 10
NESTED = "evaluations"


@dataclass(frozen=True, slots=True)
class Row:
    """One run. Times are seconds; `reward` is the last training reward, `validation` the last validation score."""

    name: str
    folder: str
    state: str
    reason: str | None
    step: int
    total_steps: int | None
    reward: float | None
    validation: float | None
    age_seconds: float
    run_seconds: float
    resumable_step: int | None
    host: str

    def as_json(self) -> dict[str, Any]:
        """Plain data, keys as named above."""
        return {name: getattr(self, name) for name in self.__slots__}


def rows(folder: Path, now: datetime | None = None) -> list[Row]:
    """The runs in `folder` and its evaluations, the newest first."""
    now = now or datetime.now(UTC)
    found = [*list_runs(folder), *list_runs(folder / NESTED)]
    return sorted((_row(run, folder, now) for run in found), key=lambda row: row.age_seconds)


def _row(run: RunSummary, root: Path, now: datetime) -> Row:
    status, records = run.status, last_records(run.folder.metrics)
    readings = [read(record) for record in records]
    started = datetime.fromisoformat(status.started_at)
    end = now if status.state.is_active else datetime.fromisoformat(status.finished_at or status.updated_at)
    return Row(
        str(run.folder.path.relative_to(root.absolute())),
        str(run.folder.path),
        status.state.value,
        status.reason,
        status.step,
        status.total_steps,
        _last(one.reward for one in readings),
        _last(one.validation_score for one in readings),
        (now - started).total_seconds(),
        (end - started).total_seconds(),
        status.resumable_step,
        status.host,
    )


def last_records(path: Path) -> list[Record]:
    """The whole records at the end of a file of metrics, so that a long run costs no more than a short one."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            lines = file.read().split(b"\n")
    except OSError:
        return []
    whole = lines if size <= TAIL_BYTES else lines[1:]
    return [record for line in whole if (record := parse_line(line)) is not None]


def _last(values: Iterable[float | None]) -> float | None:
    return next((value for value in reversed([*values]) if value is not None), None)


def as_text(found: list[Row]) -> str:
    """Aligned columns, and under a run that did not end well its reason."""
    head = ("run", "state", "step", "reward", "validation", "age", "took")
    cells = [head, *(_cells(row) for row in found)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    reasons = ["", *(f"\n    {_short(row.reason)}" if row.reason else "" for row in found)]
    return "\n".join(line + reason for line, reason in zip(lines, reasons, strict=True))


def _cells(row: Row) -> tuple[str, ...]:
    step = f"{row.step}/{row.total_steps}" if row.total_steps else str(row.step)
    numbers = ("-" if value is None else f"{value:.4g}" for value in (row.reward, row.validation))
    return (row.name, row.state, step, *numbers, duration(row.age_seconds), duration(row.run_seconds))


def _short(text: str, limit: int = 160) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."


def as_json(found: list[Row]) -> str:
    """The rows for programs."""
    return json.dumps({"version": 1, "runs": [row.as_json() for row in found]}, indent=1)
