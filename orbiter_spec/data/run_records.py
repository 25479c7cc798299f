"""The answers that a run recorded, as records and as rows of a next run.

verl writes one JSONL file a step below `rollouts/` and one a validation below `validation/`. A record has the prompt as
text, the answer, the expected answer and the score, but not the row it came from. So a row is found again by what it
must share with the record: the expected answer, and its question inside the prompt; of several the one with the longest
question. Where the run built its rows from prepared files, or nothing fits, the row has the prompt's text alone.

A run that is still going on, or was killed, has a last line that ends early: that line is left out.
"""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

FOLDERS: Final = {"train": "rollouts", "validation": "validation"}
FEW_ROWS: Final = 64
"""So many rows with one expected answer are all looked at."""
_PLAIN: Final = ("input", "output", "gts", "score")


class RunRecordsError(ValueError):
    """A folder that is no run, or a run without the records that were asked for."""


@dataclass(frozen=True, slots=True)
class Record:
    """One answer: the prompt as the model saw it, without special tokens; the answer; what was expected; the score.

    `details` has the step and everything else that was recorded: parts of the reward, the id of the sample.
    """

    input: str
    output: str
    expected: Any
    score: float
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which answers become rows: of `split`, scored within bounds (inclusive), and the `best` of each prompt.

    `best` counts different answers of one prompt, the highest score first and of equal ones the earliest; None keeps
    every answer.
    """

    split: str = "train"
    best: int | None = 1
    min_score: float = -math.inf
    max_score: float = math.inf


def record_files(folder: Path, split: str) -> list[Path]:
    """The files of `split` in the order of their steps.

    Raises:
        RunRecordsError: when there are none.
    """
    if split not in FOLDERS:
        raise RunRecordsError(f"{split!r} is not one of {', '.join(FOLDERS)}")
    if not (folder / "compiled").is_dir() and not (folder / FOLDERS[split]).is_dir():
        raise RunRecordsError(f"{folder} is not a run folder")
    files = [path for path in (folder / FOLDERS[split]).glob("*.jsonl") if path.stem.isdigit()]
    if not files:
        raise RunRecordsError(f"{folder} has no answers recorded below {FOLDERS[split]}/")
    return sorted(files, key=lambda path: int(path.stem))


def read_records(folder: Path, split: str = "train", stop_at: float = math.inf) -> Iterator[Record]:
    """Every record in the order of steps and lines; no file is begun after `stop_at` bytes.

    Raises:
        RunRecordsError: when there are none, or a line that is not a file's last is no record.
    """
    read = 0
    for path in record_files(folder, split):
        if read < stop_at:
            yield from _records(path)
        read += path.stat().st_size


def _records(path: Path) -> Iterator[Record]:
    with path.open("rb") as stream:
        for number, raw in enumerate(stream, start=1):
            try:
                yield _record(json.loads(raw))
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                if not raw.endswith(b"\n"):
                    return
                reason = " ".join(str(error).split())[:120]
                raise RunRecordsError(f"{path} line {number} is not a record of an answer: {reason}") from None


def _record(line: Any) -> Record:
    if not isinstance(line, Mapping):
        raise TypeError("not an object")
    score = float(line["score"])
    if not math.isfinite(score):
        raise ValueError(f"score is {score}")
    details = {name: value for name, value in line.items() if name not in _PLAIN}
    return Record(_text(line["input"]), _text(line["output"]), line.get("gts"), score, details)


def _text(value: Any) -> str:
    """Text of a record; half a surrogate pair, which a tokenizer may leave behind, becomes a question mark."""
    return str(value).encode("utf-8", "replace").decode("utf-8")


def select_records(folder: Path, selection: Selection, stop_at: float = math.inf) -> list[Record]:
    """The records that `selection` keeps: prompts in the order of their first answer, each with its best first.

    Memory grows with the kept answers alone. Raises RunRecordsError.
    """
    kept: dict[tuple[str, str], list[tuple[float, int, Record]]] = {}
    for position, record in enumerate(read_records(folder, selection.split, stop_at)):
        if selection.min_score <= record.score <= selection.max_score:
            answers = kept.setdefault((record.input, json.dumps(record.expected)), [])
            _keep(answers, (record.score, -position, record), selection.best)
    ordered = [sorted(answers, key=lambda item: (-item[0], -item[1])) for answers in kept.values()]
    if selection.best is None:
        return [item[2] for item in sorted((item for answers in ordered for item in answers), key=lambda i: -i[1])]
    return [item[2] for answers in ordered for item in answers]


def _keep(answers: list[tuple[float, int, Record]], new: tuple[float, int, Record], best: int | None) -> None:
    """Add to the heap of the best different answers."""
    if best is None:
        answers.append(new)
        return
    if any(old[2].output == new[2].output for old in answers):
        return
    if len(answers) < best:
        heapq.heappush(answers, new)
    else:
        heapq.heappushpop(answers, new)


def read_run(folder: Path, selection: Selection | None = None, stop_at: float = math.inf) -> Iterator[dict[str, Any]]:
    """Rows for a next run: the fields of the row that was asked, and beside them `response`, `score`, `step`.

    A row that cannot be found again has `question` (the prompt as the model saw it) and `answer` (what was expected).
    `stop_at` bounds the bytes read, as in `read_records`. Raises RunRecordsError.
    """
    selection = selection or Selection()
    records = select_records(folder, selection, stop_at)
    rows = RunRows(folder)
    for record in records:
        own = rows.find(record) or {"question": record.input, "answer": record.expected}
        yield {**own, "response": record.output, "score": record.score, "step": record.details.get("step")}


def compiled_rows(folder: Path) -> list[Path]:
    """The files of rows that a run was given, as far as it built them."""
    paths = (folder / "compiled" / "data" / f"{name}.parquet" for name in ("train", "validation"))
    return [path for path in paths if path.is_file()]


class RunRows:
    """The rows that a run was given, found by a record of an answer."""

    def __init__(self, folder: Path) -> None:
        """Read the compiled rows below `folder`; none is fine."""
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._lines: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._found: dict[tuple[str, str], dict[str, Any] | None] = {}
        for path in compiled_rows(folder):
            self._read(path)

    def find(self, record: Record) -> dict[str, Any] | None:
        """The fields of the row that was asked, or None."""
        key = (str(record.expected), record.input)
        if key not in self._found:
            fitting = [row for row in self._candidates(*key) if all(text in record.input for text in row["texts"])]
            best = max(fitting, key=lambda row: sum(map(len, row["texts"])), default=None)
            self._found[key] = None if best is None else best["fields"]
        return self._found[key]

    def _candidates(self, expected: str, prompt: str) -> list[dict[str, Any]]:
        """Rows with a line of the prompt for their longest line, else all rows with the expected answer."""
        rows = self._rows.get(expected, [])
        if len(rows) <= FEW_ROWS:
            return rows
        lines = {(expected, line.strip()) for line in prompt.splitlines()}
        return [row for line in lines for row in self._lines.get(line, ())] or rows

    def _read(self, path: Path) -> None:
        from pyarrow import parquet

        columns = ["prompt", "reward_model", "extra_info"]
        try:
            with parquet.ParquetFile(path) as file:
                for batch in file.iter_batches(batch_size=1024, columns=columns):
                    for row in batch.to_pylist():
                        self._add(row)
        except (KeyError, TypeError, ValueError, OSError):
            self._rows.clear()
            self._lines.clear()  # prepared by somebody else: prompts stay as the model saw them

    def _add(self, row: dict[str, Any]) -> None:
        messages = row["prompt"]
        fields = json.loads(row["extra_info"]["fields"])
        if len([message for message in messages if message["role"] != "system"]) > 1:
            fields.setdefault("prompt", messages)
        texts = [message["content"].strip() for message in messages]
        expected, kept = str(row["reward_model"]["ground_truth"]), {"texts": texts, "fields": fields}
        self._rows.setdefault(expected, []).append(kept)
        longest = max((line.strip() for text in texts for line in text.splitlines()), key=len, default="")
        self._lines.setdefault((expected, longest), []).append(kept)
