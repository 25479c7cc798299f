"""How one verl release differs from another, by their catalogues: keys, defaults, engines and names of registries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from orbiter_spec.importing.stale import change_of
from orbiter_spec.lower.lowering import TABLE
from orbiter_spec.lower.target import TARGET_VERSIONS, Target, load_target

HEADER = """# How releases differ

What the catalogues of verl's releases say, oldest first. A section whose keys are all new or all gone is one line.
Written by `python -m orbiter_spec.devtools regenerate`; [adding a release](adding-a-release.md) says how to get
another.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One key or name: what it was and what it is, with "absent" where a release does not have it."""

    name: str
    engines: tuple[str, ...]
    before: str
    after: str


def keys(old: Target, new: Target) -> list[Row]:
    """Every key that came, went, or has another default, over the engines that both releases have."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for engine in _shared(old, new):
        for name, before, after in _of_engine(old, new, engine):
            found.setdefault((name, before, after), []).append(engine)
    rows = [Row(name, tuple(engines), before, after) for (name, before, after), engines in found.items()]
    return sorted(rows, key=lambda row: (row.name, row.engines))


def names(old: Target, new: Target) -> list[Row]:
    """Every name that came to a registry or left it."""
    rows = []
    for registry in new.registries():
        before, after = set(old.registry(registry)), set(new.registry(registry))
        rows += [Row(f"{registry}: {name}", (), "absent", "there") for name in sorted(after - before)]
        rows += [Row(f"{registry}: {name}", (), "there", "absent") for name in sorted(before - after)]
    return rows


def unexplained(old: Target, new: Target) -> list[str]:
    """Keys that are gone and for which importing has no rule that says what became of them."""
    gone = [row.name for row in keys(old, new) if row.after == "absent"]
    return [name for name in gone if change_of(name.removesuffix(".*")) is None and change_of(name) is None]


def orphans(new: Target) -> list[tuple[str, str]]:
    """Fields of the language with a key that the release does not take."""
    return sorted(
        {
            (row.field, key)
            for row in TABLE
            for engine in new.engines
            for key in row.keys_for(engine)
            if not new.accepts(engine, key)
        }
    )


def text(old: Target, new: Target) -> str:
    """The differences as Markdown."""
    lines = [f"## {old.version} to {new.version}", ""]
    gone, come = set(old.engines) - set(new.engines), set(new.engines) - set(old.engines)
    lines += [f"Engines gone: {', '.join(sorted(gone))}.", ""] if gone else []
    lines += [f"Engines new: {', '.join(sorted(come))}.", ""] if come else []
    rows = [*keys(old, new), *names(old, new)]
    shared = _shared(old, new)
    lines += [f"| Key or name | Engines | {old.version} | {new.version} |", "| --- | --- | --- | --- |"]
    for row in rows:
        engines = "all" if row.engines in ((), shared) else ", ".join(row.engines)
        lines.append(f"| `{row.name}` | {engines} | {_cell(row.before)} | {_cell(row.after)} |")
    return "\n".join(lines) + "\n"


def page() -> dict[str, str]:
    """docs/releases.md: each shipped release against the one before it."""
    pairs = pairwise(TARGET_VERSIONS)
    parts = [HEADER, *(text(load_target(old), load_target(new)) for old, new in pairs)]
    return {"docs/releases.md": "\n".join(parts)}


def _shared(old: Target, new: Target) -> tuple[str, ...]:
    return tuple(engine for engine in new.engines if engine in old.engines)


def _of_engine(old: Target, new: Target, engine: str) -> Iterator[tuple[str, str, str]]:
    before, after = old.keys(engine), new.keys(engine)
    for key in dict.fromkeys((*before, *after)):
        if not new.has(engine, key):
            yield _section(key, engine, new), "there", "absent"
        elif not old.has(engine, key):
            yield _section(key, engine, old), "absent", "there"
        elif key in before and key in after and old.default(engine, key) != new.default(engine, key):
            yield key, _shown(old.default(engine, key)), _shown(new.default(engine, key))


def _section(key: str, engine: str, without: Target) -> str:
    """The highest section of `key` that the other release does not have, as `section.*`, or the key itself."""
    parts = key.split(".")
    for end in range(1, len(parts)):
        if not without.has(engine, ".".join(parts[:end])):
            return f"{'.'.join(parts[:end])}.*"
    return key


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cell(value: str) -> str:
    shown = value if len(value) <= 60 else f"{value[:57]}..."
    return shown if shown in ("there", "absent") else f"`{shown.replace('|', '/')}`"
