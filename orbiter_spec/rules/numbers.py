"""Suggestions: the values nearest to what was written that would work."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def nearest_divisors(whole: int, near: int, most: int = 3) -> str:
    """Divisors of `whole` nearest to `near`, in order, as words: `48, 64 or 128`."""
    divisors = [size for size in range(1, whole + 1) if whole % size == 0]
    return in_words(sorted(divisors, key=lambda size: (abs(size - near), size))[:most])


def nearest_multiples(near: int, fits: Callable[[int], bool], reach: int = 100_000) -> str:
    """The closest value below and above `near` (both at least 1) for which `fits` holds, as words."""
    below = next((value for value in range(near, 0, -1) if fits(value)), None)
    above = next((value for value in range(near, near + reach) if fits(value)), None)
    return in_words({value for value in (below, above) if value is not None})


def in_words(values: Iterable[int]) -> str:
    """`1, 2 or 4`."""
    ordered = [str(value) for value in sorted(values)]
    return " or ".join([", ".join(ordered[:-1]), ordered[-1]]) if len(ordered) > 1 else "".join(ordered)


def divisors(whole: int) -> list[int]:
    """Every divisor of `whole`, smallest first."""
    return [size for size in range(1, whole + 1) if whole % size == 0]


def nearest_fitting(candidates: Iterable[int], near: int, most: int = 3) -> str:
    """The candidates nearest to `near`, as words; empty text when there is none."""
    return in_words(sorted(candidates, key=lambda size: (abs(size - near), size))[:most])
