"""Validation answers counted: the reward and each of its parts, by data source, with their intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from orbiter_spec.report.intervals import interval

ALL = "all"
_NO_PARTS = {"input", "output", "gts", "score", "reward", "step", "uid", "data_source"}


@dataclass(frozen=True, slots=True)
class Score:
    """The mean of one measure over the prompts of a source, with its 95% interval."""

    source: str
    measure: str
    mean: float
    low: float
    high: float
    prompts: int
    answers: int


def scores(records: Iterable[Mapping[str, Any]]) -> list[Score]:
    """Scores of verl's validation records, sources by name, the reward before its parts; `all` when sources differ.

    Answers without a number for a measure are left out of it.
    """
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    sources: set[str] = set()
    for number, record in enumerate(records):
        source, prompt = str(record.get("data_source", ALL)), _prompt(record, number)
        sources.add(source)
        for measure, value in _measures(record):
            for name in {source, ALL}:
                values.setdefault((name, measure), {}).setdefault(prompt, []).append(value)
    kept = {key: by_prompt for key, by_prompt in values.items() if key[0] != ALL or len(sources) > 1 or ALL in sources}
    return [_score(source, measure, by_prompt) for (source, measure), by_prompt in sorted(kept.items(), key=_order)]


def _order(item: tuple[tuple[str, str], Any]) -> tuple[bool, str, bool, str]:
    (source, measure), _ = item
    return source == ALL, source, measure != "reward", measure


def _prompt(record: Mapping[str, Any], number: int) -> str:
    """Answers to one prompt share the first part of verl's `uid`, `PROMPT_SESSION_OUTPUT`."""
    return str(record.get("uid", number)).rsplit("_", 2)[0]


def _measures(record: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    if _is_number(record.get("score")):
        yield "reward", float(record["score"])
    for name, value in record.items():
        if name not in _NO_PARTS and _is_number(value):
            yield name, float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _score(source: str, measure: str, by_prompt: Mapping[str, list[float]]) -> Score:
    means = [fmean(values) for values in by_prompt.values()]
    low, high = interval(means)
    return Score(source, measure, fmean(means), low, high, len(means), sum(map(len, by_prompt.values())))


def read_answers(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a validation file, one at a time; a line that is no object is passed over.

    Raises:
        OSError: when the file cannot be read.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record


def as_json(found: list[Score]) -> list[dict[str, Any]]:
    """Scores as plain data."""
    return [asdict(one) for one in found]


def as_table(found: list[Score]) -> str:
    """Scores as aligned text."""
    head = ("source", "measure", "mean", "95% interval", "prompts", "answers")
    rows = [head, *((one.source, one.measure, *_numbers(one), str(one.prompts), str(one.answers)) for one in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _numbers(one: Score) -> tuple[str, str]:
    return f"{one.mean:.4f}", f"{one.low:.4f} .. {one.high:.4f}"
