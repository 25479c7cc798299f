"""Which rows of a known number are drawn: the ones with the smallest hash of the seed and their position.

A hash rather than a generator, so that the choice is the same with every version of Python, and a count rather than a
coin for each row, so that a small file gets the share it was asked for. Of each row only its hash is held, in 8 bytes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Container
from itertools import islice

from orbiter_spec.data.pipeline import draw


class Chosen(Container[int]):
    """The positions of `count` rows out of `total`."""

    def __init__(self, total: int, count: int, seed: int) -> None:
        self._keys = array("Q", (draw(seed, position) for position in range(total)))
        self._limit, self._ties = smallest(self._keys, count)

    def __contains__(self, position: object) -> bool:
        assert isinstance(position, int)
        key = self._keys[position]
        return key < self._limit or (key == self._limit and position in self._ties)


def smallest(keys: array[int], count: int) -> tuple[int, frozenset[int]]:
    """The `count` smallest keys: all below the limit, and of those equal to it the positions that are named."""
    if count <= 0:
        return 0, frozenset()
    ordered = array("Q", sorted(keys))
    limit = ordered[min(count, len(ordered)) - 1]
    below = bisect_left(ordered, limit)
    equal = (position for position, key in enumerate(keys) if key == limit)
    return limit, frozenset(islice(equal, count - below))
