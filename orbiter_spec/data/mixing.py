"""Sources with weights: how many rows of each are taken, and which.

The weights are shares: as many rows are drawn as keep the shares without taking a row twice, so the source that is
shortest for its weight gives all of its rows. Which rows of the others is decided by a hash of the seed and the
position, and their order stays.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from orbiter_spec.data.draw import Chosen


def rows_taken(rows: Mapping[int, int], weights: Mapping[int, float]) -> dict[int, int]:
    """Rows to take of each source, by its number; a source without a weight counts 1."""
    most = min((rows[key] / weights.get(key, 1.0) for key in rows), default=0.0)
    return {key: min(rows[key], round(most * weights.get(key, 1.0))) for key in rows}


def choose(rows: Mapping[int, int], weights: Mapping[int, float], seed: int) -> dict[int, Container[int]]:
    """Positions that are taken of each source."""
    return {key: Chosen(rows[key], count, seed + key) for key, count in rows_taken(rows, weights).items()}
