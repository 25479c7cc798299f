"""What a change of a spec is: a value laid over it with its reason, a part left out, and what its author wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Change:
    """A value laid over the spec, and why; the same as `--set route=value`."""

    route: str
    value: Any
    why: str

    @property
    def argument(self) -> str:
        """The change as an argument of `--set`; a value of None takes back what was written. JSON is YAML."""
        return f"{self.route}=" + ("" if self.value is None else json.dumps(self.value, ensure_ascii=False))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of the spec that this rehearsal cannot exercise, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Shrunk:
    """How a spec is made small."""

    changes: tuple[Change, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def sets(self) -> tuple[str, ...]:
        """Arguments of `--set`."""
        return tuple(change.argument for change in self.changes)


class Given:
    """Which parts of a spec its author wrote."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._heads = {route[: len(route) - len(tail)] for route in values for tail in _tails(route)}

    def has(self, route: str) -> bool:
        """True when `route` or anything inside it was written."""
        return route in self._values or route in self._heads

    def drop(self, *routes: str, why: str) -> Iterator[Change]:
        """Take back what was written under `routes`."""
        return (Change(route, None, why) for route in routes if self.has(route))


def _tails(route: str) -> Iterator[str]:
    """Every part of `route` that may be cut off at its end, with the dot or bracket before it."""
    return (route[index:] for index, letter in enumerate(route) if letter in ".[")
