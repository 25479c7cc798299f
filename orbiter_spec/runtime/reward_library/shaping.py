"""From what a function returned to what counts: the declared range, normalising, clipping."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Shape = Callable[[float], float]


def shape(item: Mapping[str, Any]) -> Shape | None:
    """The steps that an entry of rewards.json asks for, in this order: normalise, clip. None when it asks for none."""
    steps: list[Shape] = []
    if item.get("normalize") is not None:
        steps.append(_normalizer(item))
    if item.get("clip") is not None:
        low, high = item["clip"]
        steps.append(lambda value: min(max(value, low), high))
    if not steps:
        return None

    def shaped(value: float) -> float:
        for step in steps:
            value = step(value)
        return value

    return shaped


def check_range(value: float, bounds: Any) -> float:
    """`value`, when it is inside. Raises ValueError otherwise."""
    if bounds is not None and not bounds[0] <= value <= bounds[1]:
        raise ValueError(f"returned {value:g}, which is outside its range of {bounds[0]:g} to {bounds[1]:g}")
    return value


def _normalizer(item: Mapping[str, Any]) -> Shape:
    kind = item["normalize"]
    if kind == "sigmoid":
        return lambda value: 1 / (1 + math.exp(-value)) if value > -700 else 0.0
    if kind == "running":
        return _Running()
    if kind != "range" or item.get("range") is None:
        raise ValueError(f"normalize is {kind!r}, and must be sigmoid, running, or range with a range")
    low, high = item["range"]
    return lambda value: (value - low) / (high - low)


class _Running:
    """Distance from the mean in standard deviations, over what this process has scored (Welford, 1962)."""

    def __init__(self) -> None:
        self._count, self._mean, self._squares = 0, 0.0, 0.0

    def __call__(self, value: float) -> float:
        self._count += 1
        before = value - self._mean
        self._mean += before / self._count
        self._squares += before * (value - self._mean)
        deviation = math.sqrt(self._squares / (self._count - 1)) if self._count > 1 else 0.0
        return (value - self._mean) / deviation if deviation > 0 else 0.0
