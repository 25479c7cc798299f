"""`metrics.jsonl`: one flat JSON object a step, over all attempts of a run.

verl's `file` logger truncates its file when it opens it, so each attempt gets a file of its own,
`logs/metrics-AA-from-NNNNNN.jsonl`, named with the step that it went on from. `merge` is a pure function of those
files: what an attempt measured up to the step where the next one took over stays, what came after it belongs to weights
that were never saved and is replaced. The raw files are kept. Merging again gives the same, so nothing is lost when the
launcher itself is killed.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Record = dict[str, float]
_ATTEMPT = re.compile(r"^metrics-(\d+)-from-(\d+)\.jsonl$")


@dataclass(frozen=True, slots=True, order=True)
class Attempt:
    """One start of verl: its number from 1, the step it went on from, its file of raw metrics."""

    number: int
    from_step: int
    path: Path


def attempts(logs: Path) -> list[Attempt]:
    """Every attempt in `logs`, the first one first."""
    if not logs.is_dir():
        return []
    matches = ((_ATTEMPT.match(path.name), path) for path in logs.iterdir())
    return sorted(Attempt(int(match[1]), int(match[2]), path) for match, path in matches if match)


def next_attempt(logs: Path, from_step: int) -> Attempt:
    """The attempt that starts now, going on from `from_step`."""
    number = max((attempt.number for attempt in attempts(logs)), default=0) + 1
    return Attempt(number, from_step, logs / f"metrics-{number:02d}-from-{from_step:06d}.jsonl")


def parse_line(line: bytes | str) -> Record | None:
    """A line of verl's file logger, or of ours, as flat finite numbers; None when it is no whole record."""
    try:
        raw = json.loads(line)
        step = int(raw["step"])
    except (ValueError, KeyError, TypeError):
        return None
    data = raw["data"] if isinstance(raw.get("data"), dict) else raw
    return {"step": step, **{key: value for key, value in data.items() if key != "step" and _is_number(value)}}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def read_records(path: Path) -> list[Record]:
    """The whole records in a file of metrics; a line that is still being written is left out."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return []
    return [record for line in lines if (record := parse_line(line)) is not None]


def merge(parts: Iterable[tuple[int, Iterable[Record]]]) -> list[Record]:
    """Records by step from `(from_step, records)` of each attempt in order; a step measured twice is one record."""
    steps: dict[int, Record] = {}
    for from_step, records in parts:
        steps = {step: record for step, record in steps.items() if step <= from_step}
        for record in records:
            step = int(record["step"])
            steps[step] = {**steps.get(step, {}), **record}
    return [steps[step] for step in sorted(steps)]


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Replace `path` by `records` in one move."""
    stage = path.with_name(f".{path.name}.{os.getpid()}")
    stage.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    os.replace(stage, path)


def merge_attempts(logs: Path, path: Path) -> list[Record]:
    """Write the merged records of every attempt to `path`, where there is any attempt, and return them."""
    found = attempts(logs)
    if not found:
        return []
    records = merge((attempt.from_step, read_records(attempt.path)) for attempt in found)
    write_records(path, records)
    return records


@dataclass(slots=True)
class MetricsFile:
    """Reads what is appended to an attempt's file, from its beginning."""

    path: Path
    _offset: int = 0

    def poll(self) -> Iterator[Record]:
        """Records that were completed since the last call."""
        for line in self._new_lines():
            record = parse_line(line)
            if record is not None:
                yield record

    def _new_lines(self) -> list[bytes]:
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole.splitlines()


@dataclass(slots=True)
class MetricsFollower:
    """Carries an attempt's records into `metrics.jsonl` while they appear.

    A new step is appended; a step that is there already (validation before training, after a resume) is merged.
    """

    logs: Path
    attempt: Attempt
    path: Path
    records: list[Record] = field(default_factory=list)
    source: MetricsFile = field(init=False)

    def __post_init__(self) -> None:
        self.source = MetricsFile(self.attempt.path)
        earlier = [found for found in attempts(self.logs) if found.number < self.attempt.number]
        parts = [(found.from_step, read_records(found.path)) for found in earlier]
        self.records = merge([*parts, (self.attempt.from_step, [])])
        write_records(self.path, self.records)

    def poll(self) -> Iterator[Record]:
        """Records that were completed since the last call."""
        for record in self.source.poll():
            self._store(record)
            yield record

    def _store(self, record: Record) -> None:
        last = self.records[-1]["step"] if self.records else -1
        if record["step"] > last:
            self.records.append(record)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
            return
        self.records = merge([(int(last), self.records), (int(last), [record])])
        write_records(self.path, self.records)
