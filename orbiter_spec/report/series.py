"""Metrics as lines that a screen can show.

A plot is about a thousand pixels wide, so a longer line is thinned to buckets of neighbouring steps: the mean is drawn,
and the smallest and largest value around it, so that a spike of one step in ten thousand stays visible. (Keeping chosen
points, as largest-triangle-three-buckets does, shows noise where a mean shows the trend.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

DIGITS = 5


@dataclass(frozen=True, slots=True)
class Line:
    """Values by step; `low` and `high` are the extremes of each bucket, empty where nothing was thinned."""

    steps: tuple[int, ...]
    values: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.steps)

    def as_json(self) -> dict[str, list[float]]:
        """Columns with short numbers."""
        columns: dict[str, list[float]] = {"x": list(self.steps), "y": short(self.values)}
        if self.low:
            columns |= {"lo": short(self.low), "hi": short(self.high)}
        return columns


def short(values: Iterable[float]) -> list[float]:
    """Values with as many digits as a plot can show."""
    return [float(f"{value:.{DIGITS}g}") for value in values]


def by_metric(records: Iterable[Mapping[str, float]]) -> dict[str, Line]:
    """Every metric of `records` as a line, in order of step."""
    columns: dict[str, tuple[list[int], list[float]]] = {}
    for record in records:
        step = int(record["step"])
        for name, value in record.items():
            if name != "step":
                steps, values = columns.setdefault(name, ([], []))
                steps.append(step)
                values.append(float(value))
    return {name: Line(tuple(steps), tuple(values)) for name, (steps, values) in columns.items()}


def thin(line: Line, points: int) -> Line:
    """`line` with at most `points` points; unchanged when it has no more."""
    count = len(line.steps)
    if count <= points:
        return line
    edges = [number * count // points for number in range(points + 1)]
    buckets = [(start, end) for start, end in pairwise(edges) if end > start]
    parts = [line.values[start:end] for start, end in buckets]
    return Line(
        tuple(line.steps[(start + end - 1) // 2] for start, end in buckets),
        tuple(sum(part) / len(part) for part in parts),
        tuple(min(part) for part in parts),
        tuple(max(part) for part in parts),
    )


def tail_mean(values: Sequence[float], share: float = 0.1) -> float:
    """Mean of the last `share` of `values`, of one at least: what a noisy line came to."""
    last = values[-max(1, round(len(values) * share)) :]
    return sum(last) / len(last)
