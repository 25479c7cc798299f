"""Changed copies of examples: noise in a text, input and output exchanged. Pure functions, the same for every machine.

Only `random.random()` is drawn from, whose numbers are promised to stay the same from one Python to the next.
"""

from __future__ import annotations

import random
import string
from collections.abc import Mapping, Sequence
from typing import Any

INPUT_NAMES = ("input", "question", "prompt", "problem", "state")
OUTPUT_NAMES = ("output", "answer", "expected", "target", "ground_truth", "action")


def add_noise(text: str, level: float, seed: int) -> str:
    """`text` with about `level` of its characters dropped, doubled, exchanged with the next one or mistyped, in turn.

    `level` is from 0 to 1; the same seed gives the same text.
    """
    draw = random.Random(seed).random
    out: list[str] = []
    index = 0
    while index < len(text):
        character = text[index]
        if draw() >= level:
            out.append(character)
        else:
            index += _change(text, index, out, draw)
        index += 1
    return "".join(out)


def _change(text: str, index: int, out: list[str], draw: Any) -> int:
    """Write what stands for one character; how many further ones it used up."""
    kind, character = int(draw() * 4), text[index]
    if kind == 1:
        out.append(character * 2)
    elif kind == 2 and index + 1 < len(text):
        out += (text[index + 1], character)
        return 1
    elif kind != 0:
        out.append(string.ascii_lowercase[int(draw() * 26)])
    return 0


def augment_add_noise(
    data: Sequence[Mapping[str, Any]], noise_level: float = 0.1, *, seed: int = 0, column: str | None = None
) -> list[dict[str, Any]]:
    """A noisy copy of each example; noise goes to `column`, or to its input by the usual names.

    Raises `KeyError` for an example without one, and `ValueError` when `noise_level` is not from 0 to 1.
    """
    if not 0 <= noise_level <= 1:
        raise ValueError(f"noise_level must be from 0 to 1, not {noise_level}")
    copies = []
    for position, example in enumerate(data):
        name = column or _first(example, INPUT_NAMES)
        text = example[name]
        noisy = add_noise(text, noise_level, seed * 1_000_003 + position) if isinstance(text, str) else text
        copies.append({**example, name: noisy})
    return copies


def augment_swap_io(
    data: Sequence[Mapping[str, Any]], *, input: str | None = None, output: str | None = None
) -> list[dict[str, Any]]:
    """A copy of each example with input and output exchanged. Raises `KeyError` for an example that lacks one."""
    copies = []
    for example in data:
        first, second = input or _first(example, INPUT_NAMES), output or _first(example, OUTPUT_NAMES)
        copies.append({**example, first: example[second], second: example[first]})
    return copies


def _first(example: Mapping[str, Any], names: Sequence[str]) -> str:
    found = next((name for name in names if name in example), None)
    if found is None:
        raise KeyError(f"none of {', '.join(names)} in an example with {', '.join(map(str, example)) or 'nothing'}")
    return found
