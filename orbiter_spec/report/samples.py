"""Answers worth reading, out of as many as a run wrote.

Rollouts of a long run are gigabytes. Steps are picked evenly over the run, the first and the last among them; of each
file only the beginning is read; of what was read prompts are picked evenly, and of each prompt's answers the worst, the
best and some between. So reading takes the same time however long the run was. Text is cut, and says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

STEPS, PROMPTS, ANSWERS = 12, 4, 4
READ_BYTES = 1 << 20
TEXT_CHARACTERS = 4000
_STEP_FILE = re.compile(r"^(\d+)\.jsonl$")
_OWN = {"input", "output", "gts", "score", "step", "uid", "reward", "data_source"}
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Folder:
    """Where records lie, and the file of parts by `uid` beside them, where there is one."""

    records: Path
    parts: Path | None = None


def sample(folder: Folder, steps: int = STEPS) -> list[dict[str, Any]]:
    """Groups of answers to one prompt: `{step, prompt, expected, source, answers: [{text, score, parts}]}`."""
    return [group for step, path in _picked_files(folder.records, steps) for group in _groups(folder, step, path)]


def count_steps(folder: Path) -> int:
    """How many steps have records."""
    return len(_files(folder))


def _files(folder: Path) -> list[tuple[int, Path]]:
    if not folder.is_dir():
        return []
    matches = ((_STEP_FILE.match(path.name), path) for path in folder.iterdir())
    return sorted((int(match[1]), path) for match, path in matches if match)


def _picked_files(folder: Path, steps: int) -> list[tuple[int, Path]]:
    return spread(_files(folder), steps)


def spread(items: Sequence[_Item], count: int) -> list[_Item]:
    """At most `count` of `items` at even distances, the first and the last among them."""
    if len(items) <= count:
        return list(items)
    if count == 1:
        return [items[-1]]
    return [items[round(number * (len(items) - 1) / (count - 1))] for number in range(count)]


def read_head(path: Path, limit_bytes: int = READ_BYTES) -> Iterator[dict[str, Any]]:
    """The whole JSON objects in the first `limit_bytes` of a file of lines; what is no object is passed over."""
    try:
        with path.open("rb") as file:
            data = file.read(limit_bytes)
    except OSError:
        return
    lines = data.split(b"\n")
    for line in lines if len(data) < limit_bytes else lines[:-1]:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def _groups(folder: Folder, step: int, path: Path) -> list[dict[str, Any]]:
    by_prompt: dict[str, list[dict[str, Any]]] = {}
    for record in read_head(path):
        by_prompt.setdefault(_prompt_of(record), []).append(record)
    picked = spread(list(by_prompt.values()), PROMPTS)
    parts = _parts(folder.parts, path.name)
    return [_group(step, answers, parts) for answers in picked]


def _prompt_of(record: Mapping[str, Any]) -> str:
    """Answers to one prompt share the first part of verl's `uid`, `PROMPT_SESSION_OUTPUT`."""
    uid = record.get("uid")
    parts = uid.rsplit("_", 2) if isinstance(uid, str) else []
    return parts[0] if len(parts) == 3 else json.dumps([record.get("input"), record.get("gts")], default=str)


def _parts(folder: Path | None, name: str) -> dict[str, Mapping[str, Any]]:
    if folder is None:
        return {}
    return {str(record.get("uid")): record for record in read_head(folder / name, 4 * READ_BYTES)}


def _group(step: int, answers: list[dict[str, Any]], parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    ordered = sorted(answers, key=lambda record: number_or_zero(record.get("score")), reverse=True)
    return {
        "step": step,
        "prompt": cut(answers[0].get("input")),
        "expected": cut(answers[0].get("gts")),
        "source": cut(answers[0].get("data_source"), 200),
        "of": len(answers),
        "answers": [_answer(record, parts) for record in spread(ordered, ANSWERS)],
    }


def _answer(record: dict[str, Any], parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    beside = {**record, **parts.get(str(record.get("uid")), {})}
    shown = {
        name: round(value, 4) if isinstance(value, float) else cut(value, 200)
        for name, value in beside.items()
        if name not in _OWN and value is not None
    }
    return {"text": cut(record.get("output")), "score": record.get("score"), "parts": shown}


def number_or_zero(value: Any) -> float:
    """`value` where it is a number."""
    return float(value) if isinstance(value, int | float) else 0.0


def cut(value: Any, limit: int = TEXT_CHARACTERS) -> Any:
    """Numbers as they are, anything else as text of at most `limit` characters."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= limit else f"{text[:limit]} … ({len(text) - limit:,} more characters)"
