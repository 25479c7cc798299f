"""Which rows are set aside for validation: the ones with the smallest hash of the seed and their position.

A hash rather than a generator, so that the choice is the same with every version of Python, and a count rather than a
coin for each row, so that a small file gets the share it was asked for.
"""

from __future__ import annotations

import hashlib
import heapq


def validation_count(rows: int, fraction: float, limit: int | None) -> int:
    """Rows set aside out of `rows`: the rounded share, at least one where two rows or more allow it."""
    count = max(1, round(rows * fraction)) if rows > 1 else 0
    return min(count, rows - 1 if rows else 0, rows if limit is None else limit)


def choose_validation(rows: int, count: int, seed: int) -> frozenset[int]:
    """Positions, from zero, of the rows set aside."""
    return frozenset(heapq.nsmallest(count, range(rows), key=lambda position: _draw(seed, position)))


def _draw(seed: int, position: int) -> bytes:
    return hashlib.blake2b(f"{seed}:{position}".encode(), digest_size=8).digest()
