"""What an engine gives back, whatever engine it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy


@dataclass(frozen=True, slots=True)
class InferenceOutput:
    """Answers in the order of their prompts.

    `tokens` are the answers' token ids, int64 of shape [prompts, longest answer], filled up at the end with `pad_id`.
    """

    sequences: list[str]
    tokens: numpy.ndarray[Any, Any]
    pad_id: int


def stack(rows: Sequence[Sequence[int]], pad_id: int) -> numpy.ndarray[Any, Any]:
    """Token ids as int64 of shape [rows, longest row], filled up at the end with `pad_id`."""
    import numpy

    longest = max((len(row) for row in rows), default=0)
    table = numpy.full((len(rows), longest), pad_id, dtype=numpy.int64)
    for index, row in enumerate(rows):
        table[index, : len(row)] = row
    return table
