"""One row of a lowering table: a spec field and the verl keys it sets.

The tables are data on purpose. Compiling reads them from field to key, `import` from key to field, `explain` both ways,
and the check of the hatch asks whether a key has a word in the language. A field whose value is not the key's value
carries a pair of functions; nothing else is code.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

ENGINES = ("dp", "megatron", "veomni", "torchtitan")

ACTOR = "actor_rollout_ref.actor"
REFERENCE = "actor_rollout_ref.ref"
ROLLOUT = "actor_rollout_ref.rollout"
MODEL = "actor_rollout_ref.model"
CRITIC = "critic"


class Role(StrEnum):
    """The role a row belongs to; rows of a role that is off are not written."""

    ALWAYS = "always"
    REFERENCE = "reference"
    CRITIC = "critic"
    REWARD_MODEL = "reward model"


def same(value: Any) -> Any:
    """The value as it is."""
    return value


@dataclass(frozen=True, slots=True)
class Setting:
    """`field` sets `keys` for the engine in hand: a tuple of keys that all take `encode(value)`.

    `keys` maps an engine, or `*` for all, to the keys. `decode` undoes `encode`. An `optional` row is left out for a
    release that lacks its key, because the field still does the rest of what it says there.
    """

    field: str
    keys: Mapping[str, tuple[str, ...]]
    role: Role = Role.ALWAYS
    encode: Callable[[Any], Any] = dataclasses.field(default=same)
    decode: Callable[[Any], Any] = dataclasses.field(default=same)
    optional: bool = False

    def keys_for(self, engine: str) -> tuple[str, ...]:
        """The verl keys this field sets under `engine`; empty where the engine has no such thing."""
        return self.keys.get(engine, self.keys.get("*", ()))


def to(field: str, *keys: str, role: Role = Role.ALWAYS, **engines: str) -> Setting:
    """A row for all engines (`keys`) or for some (`dp=`, `megatron=`, `veomni=`, `torchtitan=`)."""
    by_engine = {engine: (key,) for engine, key in engines.items()}
    return Setting(field, {"*": keys, **by_engine} if keys else by_engine, role)


def optional(row: Setting) -> Setting:
    """The same row, for a key that a release may go without."""
    return dataclasses.replace(row, optional=True)


def inverse(field: str, *keys: str, role: Role = Role.ALWAYS) -> Setting:
    """A row whose key says the opposite of the field."""
    return Setting(field, {"*": keys}, role, encode=lambda value: not value, decode=lambda value: not value)


def worded(field: str, *keys: str, word: str, value: Any, role: Role = Role.ALWAYS) -> Setting:
    """A row in which `word` stands for the value that no number says, such as `never` for -1."""
    return Setting(
        field,
        {"*": keys},
        role,
        encode=lambda given: value if given == word else given,
        decode=lambda found: word if found == value else found,
    )


@dataclass(frozen=True, slots=True)
class Mapped:
    """`field`, a mapping of the user's, goes below `prefixes[engine]` as it is, entry by entry.

    A prefix may hold `{rollout}` and `{profiler}`: the inference engine and the profiler in hand.
    """

    field: str
    prefixes: Mapping[str, str]
    role: Role = Role.ALWAYS

    def prefix_for(self, engine: str, names: Mapping[str, str]) -> str | None:
        """The verl key that the entries stand below, or None where `engine` has no such thing."""
        prefix = self.prefixes.get(engine, self.prefixes.get("*"))
        return None if prefix is None else prefix.format(**names)


@dataclass(frozen=True, slots=True)
class Switch:
    """`section` turns `keys` on by being there, unless its `enabled` says otherwise."""

    section: str
    keys: Mapping[str, tuple[str, ...]]
    role: Role = Role.ALWAYS

    def keys_for(self, engine: str) -> tuple[str, ...]:
        """The verl keys under `engine`."""
        return self.keys.get(engine, self.keys.get("*", ()))


def below(field: str, prefix: str | None = None, role: Role = Role.ALWAYS, **engines: str) -> Mapped:
    """A mapping for all engines (`prefix`) or for some."""
    return Mapped(field, {"*": prefix} if prefix else engines, role)


def switch(section: str, *keys: str, role: Role = Role.ALWAYS, **engines: str) -> Switch:
    """A section that is on when it is there."""
    return Switch(section, {"*": keys} if keys else {engine: (key,) for engine, key in engines.items()}, role)
