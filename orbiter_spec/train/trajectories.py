"""Trajectories: what an agent saw, what it did, and what that was worth.

A dataset is a list in memory; a strategy decides what enters it and in which shape. JSON is an array of objects and
also what the dataset section reads as rows; CSV and Parquet hold the metadata as JSON text, so every form comes back as
it was. A file is written whole or not at all, and a file with one broken item is not taken in half.
"""

from __future__ import annotations

import csv
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from orbiter_spec.data.atomic import replacing

PathLike = str | Path
COLUMNS: Final = ("state", "action", "reward", "metadata")


class TrajectoryError(ValueError):
    """An item or a file that is no trajectory."""


@dataclass(frozen=True, slots=True)
class TrajectoryItem:
    """One step: the state as text, the action as text, its reward, and whatever else is worth keeping as JSON.

    Raises:
        TrajectoryError: for a state or action that is not text, or a reward that is not a finite number.
    """

    state: str
    action: str
    reward: float = 0.0
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("state", "action"):
            _check_text(name, getattr(self, name))
        if isinstance(self.reward, bool) or not isinstance(self.reward, (int, float)) or not math.isfinite(self.reward):
            raise TrajectoryError(f"reward is {self.reward!r}, not a finite number")
        if not isinstance(self.metadata, dict):
            raise TrajectoryError(f"metadata is a {type(self.metadata).__name__}, not a dict")


def _check_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise TrajectoryError(f"{name} is a {type(value).__name__}, not text")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise TrajectoryError(f"{name} holds half of a surrogate pair, which is not text") from None


class TrajectoryStrategy(ABC):
    """Which items a dataset keeps, and in which shape. `process` is called on the kept ones only."""

    @abstractmethod
    def should_capture(self, item: TrajectoryItem) -> bool:
        """Whether `item` is kept."""

    def process(self, item: TrajectoryItem) -> TrajectoryItem:
        """The item as it is kept; as it came, unless a subclass says otherwise."""
        return item


class DefaultStrategy(TrajectoryStrategy):
    """Keeps every item as it came."""

    def should_capture(self, item: TrajectoryItem) -> bool:
        """True."""
        return True


class TrajectoryDataset:
    """Trajectory items in the order of their capture."""

    def __init__(self, items: Iterable[TrajectoryItem] = (), *, strategy: TrajectoryStrategy | None = None) -> None:
        """`items` are captured as if one by one; without a strategy everything is kept."""
        self.strategy = strategy or DefaultStrategy()
        self._items: list[TrajectoryItem] = []
        for item in items:
            self.capture(item)

    def capture(self, item: TrajectoryItem) -> bool:
        """Offer one item; whether it was kept. Raises TrajectoryError when the strategy makes something else of it."""
        if not self.strategy.should_capture(item):
            return False
        kept = self.strategy.process(item)
        if not isinstance(kept, TrajectoryItem):
            name = type(self.strategy).__name__
            raise TrajectoryError(f"{name}.process returned a {type(kept).__name__}, not a TrajectoryItem")
        self._items.append(kept)
        return True

    @property
    def items(self) -> list[TrajectoryItem]:
        """The items, in a list of their own."""
        return list(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[TrajectoryItem]:
        return iter(self.items)

    def export_json(self, path: PathLike) -> None:
        """Write a JSON array of objects. Raises TrajectoryError for metadata that JSON cannot hold, and OSError."""
        text = "[\n" + ",\n".join(_as_json(asdict(item)) for item in self._items) + "\n]\n"
        with replacing(Path(path)) as file:
            file.write_text(text, encoding="utf-8")

    def export_csv(self, path: PathLike) -> None:
        """Write CSV with a header; metadata is JSON text. Raises as `export_json`."""
        lines = [(item.state, item.action, repr(float(item.reward)), _as_json(item.metadata)) for item in self._items]
        with replacing(Path(path)) as file, file.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([COLUMNS, *lines])

    def export_parquet(self, path: PathLike) -> None:
        """Write Parquet: three plain columns, and metadata as JSON text. Raises as `export_json`."""
        import pyarrow as pa
        from pyarrow import parquet

        types = (pa.string(), pa.string(), pa.float64(), pa.string())
        values = zip(*((i.state, i.action, float(i.reward), _as_json(i.metadata)) for i in self._items), strict=True)
        columns = list(values) or [()] * len(COLUMNS)
        arrays = [pa.array(list(column), kind) for column, kind in zip(columns, types, strict=True)]
        with replacing(Path(path)) as file:
            parquet.write_table(pa.table(arrays, names=list(COLUMNS)), file)

    def import_json(self, path: PathLike) -> int:
        """Capture the items of a JSON array; how many were kept. Raises TrajectoryError, and OSError."""
        with Path(path).open(encoding="utf-8-sig") as stream:
            try:
                rows = json.load(stream)
            except (ValueError, RecursionError) as error:
                raise TrajectoryError(f"{path} is not JSON: {error}") from None
        if not isinstance(rows, list):
            raise TrajectoryError(f"{path} does not hold an array of items")
        return self._take(path, rows)

    def import_csv(self, path: PathLike) -> int:
        """Capture the items of a CSV file; how many were kept. Raises as `import_json`."""
        csv.field_size_limit(32 * 1024 * 1024)
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            try:
                return self._take(path, list(csv.DictReader(stream, strict=True)))
            except (csv.Error, UnicodeDecodeError) as error:
                raise TrajectoryError(f"{path} is not CSV: {error}") from None

    def import_parquet(self, path: PathLike) -> int:
        """Capture the items of a Parquet file; how many were kept. Raises as `import_json`."""
        from pyarrow import ArrowException, parquet

        try:
            rows = parquet.read_table(path).to_pylist()
        except (ArrowException, ValueError) as error:
            raise TrajectoryError(f"{path} is not a readable Parquet file: {error}") from None
        return self._take(path, rows)

    def import_run(self, folder: PathLike, *, split: str = "train") -> int:
        """Capture the answers that a run recorded; how many were kept.

        The state is the prompt as the model saw it, the action its answer, the reward its score. Metadata has the
        expected answer, the step and every part of the reward that was recorded.

        Raises:
            RunRecordsError: when `folder` holds no run or no records of `split` (`train` or `validation`).
        """
        from orbiter_spec.data.run_records import read_records

        items = [
            TrajectoryItem(record.input, record.output, record.score, {"expected": record.expected, **record.details})
            for record in read_records(Path(folder), split)
        ]
        return sum(self.capture(item) for item in items)

    def _take(self, path: PathLike, rows: list[Any]) -> int:
        """All items are made before the first is captured."""
        items = [_item(path, number, row) for number, row in enumerate(rows, start=1)]
        return sum(self.capture(item) for item in items)


def _item(path: PathLike, number: int, row: Any) -> TrajectoryItem:
    where = f"{path} item {number}"
    if not isinstance(row, Mapping) or not {"state", "action"} <= set(row):
        raise TrajectoryError(f"{where} is not an object with a state and an action")
    try:
        reward = row.get("reward", 0.0)
        number_of = float(reward) if isinstance(reward, str) else reward
        return TrajectoryItem(row["state"], row["action"], number_of, _metadata(row.get("metadata")))
    except ValueError as error:
        raise TrajectoryError(f"{where}: {error}") from None


def _metadata(value: Any) -> Any:
    if value is None or value == "":
        return {}
    return json.loads(value) if isinstance(value, str) else value


def _as_json(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode("utf-8")
    except (TypeError, ValueError) as error:
        raise TrajectoryError(f"an item holds what JSON cannot: {error}") from None
    return text
