"""Validation rows that are training rows too, the same or nearly: read back from the files that were built.

Prompts are compared, by a hash for the same and by MinHash signatures for the nearly same. The validation rows are held
in memory, the training rows pass by. Signatures cost more than all else a build does to a row, so beyond `NEAR_ROWS`
training rows only equal prompts are looked for; a `deduplicate` step before a split leaves nothing near to be found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NEAR = 0.9
NEAR_ROWS = 200_000
NEAR_VALIDATION_ROWS = 50_000
EXAMPLES = 3
SHINGLE_WORDS = 3


def measure_overlap(train: Path, validation: Path) -> dict[str, Any]:
    """Numbers of validation rows that are equal or similar to training rows, with examples.

    `near` is None where it was not looked for: too many rows, or no rensa.
    """
    kept = {_key(text): (name, text) for name, text in _prompts(validation)}
    found = {key for _, text in _prompts(train) if (key := _key(text)) in kept}
    equal = [name for key, (name, _) in kept.items() if key in found]
    rest = [pair for key, pair in kept.items() if key not in found]
    return {
        "validation_rows": _rows(validation),
        "exact": {"rows": _count(validation, found), "examples": equal[:EXAMPLES]},
        "near": _near(train, rest),
    }


def _count(validation: Path, found: set[bytes]) -> int:
    return sum(_key(text) in found for _, text in _prompts(validation)) if found else 0


def _near(train: Path, rest: list[tuple[str, str]]) -> dict[str, Any] | None:
    if _rows(train) > NEAR_ROWS or len(rest) > NEAR_VALIDATION_ROWS:
        return None
    try:
        similar = _similar(train, rest)
    except ImportError:
        return None
    return {"rows": len(similar), "examples": [rest[index][0] for index in sorted(similar)[:EXAMPLES]]}


def _similar(train: Path, rest: list[tuple[str, str]]) -> set[int]:
    """Positions in `rest` of prompts that a training prompt is similar to."""
    from orbiter_spec.data.near import rows_in_band
    from orbiter_spec.data.shingles import SIGNATURE_BYTES, signatures

    size = rows_in_band(NEAR) * 4
    starts = range(0, SIGNATURE_BYTES - size + 1, size)
    own = signatures((text for _, text in rest), SHINGLE_WORDS)
    index: dict[tuple[int, bytes], list[int]] = {}
    for position, signature in enumerate(own):
        for start in starts:
            index.setdefault((start, signature[start : start + size]), []).append(position)
    similar: set[int] = set()
    if index:
        for signature in signatures((text for _, text in _prompts(train)), SHINGLE_WORDS):
            near = {
                position for start in starts for position in index.get((start, signature[start : start + size]), ())
            }
            similar.update(position for position in near - similar if _equal_slots(own[position], signature))
    return similar


def _equal_slots(one: bytes, other: bytes) -> bool:
    slots = len(one) // 4
    equal = sum(one[at : at + 4] == other[at : at + 4] for at in range(0, len(one), 4))
    return equal >= round(NEAR * slots)


def _rows(path: Path) -> int:
    from pyarrow import parquet

    return int(parquet.read_metadata(path).num_rows)


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _prompts(path: Path) -> Iterator[tuple[str, str]]:
    """Name and messages of each row; rows that differ in their images only count as different."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        columns = ["prompt", "extra_info.source", "extra_info.row"]
        columns += ["images"] if "images" in file.schema_arrow.names else []
        for batch in file.iter_batches(batch_size=1024, columns=columns):
            for row in batch.to_pylist():
                text = "\n".join(f"{message['role']}: {message['content']}" for message in row["prompt"])
                images = f"\n{row['images']!r}" if row.get("images") else ""
                yield f"{row['extra_info']['source']} row {row['extra_info']['row']}", text + images
