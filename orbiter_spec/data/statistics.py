"""What a build holds, in numbers: lengths, sources, and how many rows have something to be compared with.

Every row is counted. Tokens cost time, so they are counted on at most `MEASURED_ROWS` rows, taken evenly over all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from orbiter_spec.data.tokenizing import PromptMeter, TokenizerError

MEASURED_ROWS = 20_000
BATCH_ROWS = 1024
BINS = 10
COLUMNS = ["prompt", "data_source", "reward_model"]


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lengths in tokens or characters: how many were measured, quantiles, and a histogram.

    `bins` are (from, to, rows) with both ends included; all but the last have the same width.
    """

    unit: str
    measured: int
    least: int
    median: int
    p90: int
    p99: int
    most: int
    over_limit: int | None
    bins: list[tuple[int, int, int]]


@dataclass(slots=True)
class SplitStatistics:
    """One split: rows, rows by data source, those of them with an expected answer, prompt lengths, turns, images."""

    rows: int = 0
    sources: Counter[str] = field(default_factory=Counter)
    with_expected: Counter[str] = field(default_factory=Counter)
    with_images: int = 0
    messages: Counter[int] = field(default_factory=Counter)
    lengths: Lengths | None = None
    trouble: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "rows": self.rows,
            "sources": {
                name: {"rows": count, "with_expected": self.with_expected[name]}
                for name, count in sorted(self.sources.items())
            },
            "with_images": self.with_images,
            "messages": {str(number): count for number, count in sorted(self.messages.items())},
            "lengths": None if self.lengths is None else asdict(self.lengths),
            "trouble": self.trouble or None,
        }


def count_split(
    path: Path, meter: PromptMeter | None, limit: int | None, progress: Callable[[int], None] | None = None
) -> SplitStatistics:
    """Count the rows of a built file; `limit` are the tokens a prompt may have. Raises OSError."""
    from pyarrow import parquet

    found = SplitStatistics()
    lengths: list[int] = []
    unit = "tokens" if meter is not None else "characters"
    with parquet.ParquetFile(path) as file:
        total = file.metadata.num_rows
        every = max(1, math.ceil(total / MEASURED_ROWS)) if meter is not None else 1
        names = set(file.schema_arrow.names)
        columns = [*COLUMNS, *(["images"] if "images" in names else [])]
        for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=columns):
            rows = batch.to_pylist()
            chosen = [row["prompt"] for position, row in enumerate(rows, start=found.rows) if position % every == 0]
            _count(rows, found)
            if unit == "tokens" and meter is not None:
                try:
                    lengths += meter.count(chosen) if chosen else []
                except TokenizerError as error:
                    found.trouble, unit, lengths = str(error), "characters", []
            if progress is not None:
                progress(len(rows))
    if unit == "characters":
        lengths, limit = list(_characters(path)), None
    found.lengths = describe(lengths, unit, limit)
    return found


def _count(rows: Iterable[dict[str, Any]], found: SplitStatistics) -> None:
    for row in rows:
        found.rows += 1
        found.sources[row["data_source"]] += 1
        found.with_expected[row["data_source"]] += (row["reward_model"] or {}).get("ground_truth") is not None
        found.with_images += bool(row.get("images"))
        found.messages[len(row["prompt"])] += 1


def _characters(path: Path) -> Iterable[int]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=["prompt"]):
            for row in batch.to_pylist():
                yield sum(len(message["content"]) for message in row["prompt"])


def describe(lengths: Sequence[int], unit: str, limit: int | None = None) -> Lengths | None:
    """Quantiles (nearest rank) and a histogram of `lengths`; None for no rows."""
    if not lengths:
        return None
    ordered = sorted(lengths)

    def rank(share: float) -> int:
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]

    over = None if limit is None else sum(length > limit for length in ordered)
    quantiles = (ordered[0], rank(0.5), rank(0.9), rank(0.99), ordered[-1])
    return Lengths(unit, len(ordered), *quantiles, over, histogram(ordered))


def histogram(ordered: Sequence[int]) -> list[tuple[int, int, int]]:
    """At most `BINS` bins of one width that cover the sorted values."""
    least, most = ordered[0], ordered[-1]
    width = max(1, math.ceil((most - least + 1) / BINS))
    counts = Counter((value - least) // width for value in ordered)
    starts = range(least, most + 1, width)
    return [(start, min(start + width - 1, most), counts[index]) for index, start in enumerate(starts)]
