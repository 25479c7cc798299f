"""The newest answers of a run, a line each, out of the file that verl writes for every step."""

from __future__ import annotations

import json
from pathlib import Path

READ_BYTES = 64 << 10
LINE_CHARACTERS = 300


def last_answers(folder: Path, count: int = 2) -> list[tuple[str, str, str]]:
    """`(score, prompt, answer)` of `count` answers of the newest step, the first and one farther on."""
    try:
        steps = [path for path in folder.iterdir() if path.suffix == ".jsonl" and path.stem.isdigit()]
        with max(steps, key=lambda path: int(path.stem)).open("rb") as file:
            lines = file.read(READ_BYTES).split(b"\n")[:-1]
    except (OSError, ValueError):
        return []
    picked = lines[:: max(1, len(lines) // count)][:count]
    return [found for line in picked if (found := _answer(line)) is not None]


def _answer(line: bytes) -> tuple[str, str, str] | None:
    try:
        record = json.loads(line)
        score, prompt, answer = record.get("score"), record["input"], record["output"]
    except (ValueError, KeyError, AttributeError, TypeError):
        return None
    return (f"{score:.3g}" if isinstance(score, int | float) else "-", one_line(prompt), one_line(answer))


def one_line(text: object) -> str:
    """`text` without line ends and characters that move a terminal's cursor, cut to what a line can hold."""
    words = " ".join(str(text).split())
    return "".join(mark if mark.isprintable() else "·" for mark in words[:LINE_CHARACTERS])
