"""What a lowering yields: one verl key with its value, and the spec route answerable for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Emit:
    """One verl key with its value, and the spec route it comes from; an `optional` one a release may go without."""

    key: str
    value: Any
    route: str
    optional: bool = False


def leaves(mapping: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names and values of a nested mapping; an empty mapping is a value."""
    for name, value in mapping.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
