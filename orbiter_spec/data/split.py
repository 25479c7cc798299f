"""How many rows are set aside for validation; `data.draw` says which."""

from __future__ import annotations


def validation_count(rows: int, fraction: float, limit: int | None) -> int:
    """Rows set aside out of `rows`: the rounded share, at least one where two rows or more allow it."""
    count = max(1, round(rows * fraction)) if rows > 1 else 0
    return min(count, rows - 1 if rows else 0, rows if limit is None else limit)
