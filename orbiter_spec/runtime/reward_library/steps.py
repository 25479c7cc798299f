"""Process rewards: a response scored step by step, and the scores of its steps as one number."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .function import Call

COMBINE: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": lambda scores: sum(scores) / len(scores),
    "sum": sum,
    "min": min,
    "max": max,
    "last": lambda scores: scores[-1],
    "product": math.prod,
}


def combine(scores: Sequence[float], how: str, discount: float = 1.0) -> float:
    """The scores of the steps, in order, as one number; each step counts `discount` times the one before it.

    No step is worth 0. Raises ValueError for an unknown `how`.
    """
    if how not in COMBINE:
        raise ValueError(f"combine is {how!r}, and must be one of {', '.join(COMBINE)}")
    return float(COMBINE[how]([score * discount**index for index, score in enumerate(scores)])) if scores else 0.0


def split(response: str, pattern: str, limit: int) -> list[str]:
    """The steps of a response: what stands between matches of `pattern`; the last keeps what is beyond `limit`."""
    pieces = re.split(pattern, response)
    kept = [piece.strip() for piece in pieces if piece and piece.strip()]
    return kept if len(kept) <= limit else [*kept[: limit - 1], "\n".join(kept[limit - 1 :])]


def by_step(call: Call, steps: Mapping[str, Any], read: Callable[[Any], tuple[float, dict[str, Any]]]) -> Call:
    """`call` for every step of the response; `response` is the step, `steps` counts them."""
    pattern, how = str(steps.get("split") or r"\n\s*\n"), str(steps.get("combine") or "mean")
    discount, limit = float(steps.get("discount") or 1.0), int(steps.get("limit") or 32)
    combine([], how)
    re.compile(pattern)

    async def whole(sample: Mapping[str, Any]) -> dict[str, Any]:
        pieces = split(str(sample["response"]), pattern, limit)
        names = ("response", "solution_str", "output")
        results = await asyncio.gather(*(call({**sample, **dict.fromkeys(names, piece)}) for piece in pieces))
        scores = [read(result)[0] for result in results]
        return {"score": combine(scores, how, discount), "steps": len(pieces), "lowest": min(scores, default=0.0)}

    return whole
