"""What a person looks up about a field: the values it takes, what it means, and what holds when it is left out.

Read from the JSON Schema that ships with the package, so that the reference, `explain` and editors say the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

Schema = Mapping[str, Any]

BOUNDS = {
    "minimum": "at least {:g}",
    "exclusiveMinimum": "above {:g}",
    "maximum": "at most {:g}",
    "exclusiveMaximum": "below {:g}",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One field by its route, with `[]` for list items. `left_out` is empty where the field has to be there."""

    route: str
    values: str
    meaning: str
    left_out: str
    is_section: bool

    @property
    def section(self) -> str:
        """The route of the section the field stands in, "" for the top."""
        return self.route.rpartition(".")[0].removesuffix("[]")


@cache
def entries() -> dict[str, Entry]:
    """Every field by its route, in the order of the language."""
    schema = json.loads((files("orbiter_spec.spec") / "experiment.schema.json").read_text(encoding="utf-8"))
    return {entry.route: entry for entry in _walk(schema, schema["$defs"], "")}


def _walk(section: Schema, defs: Schema, prefix: str) -> Iterator[Entry]:
    for name, field in section["properties"].items():
        route = f"{prefix}{name}"
        inner = list(_sections(field, defs, route))
        meaning, _, left_out = _description(field, defs).partition(" Left out: ")
        yield Entry(route, values(field, defs), meaning, left_out, bool(inner))
        for below, schema in inner:
            yield from _walk(schema, defs, f"{below}.")


def _sections(field: Schema, defs: Schema, route: str) -> Iterator[tuple[str, Schema]]:
    """The mappings with named fields that `field` may be, each with its route."""
    if "$ref" in field:
        yield from _sections(_resolved(field, defs), defs, route)
    elif "anyOf" in field:
        for option in field["anyOf"]:
            yield from _sections(option, defs, route)
    elif "items" in field:
        yield from _sections(field["items"], defs, f"{route}[]")
    elif "properties" in field:
        yield route, field


def values(field: Schema, defs: Schema) -> str:
    """The values that a field takes, in a few words."""
    if "$ref" in field:
        return values(_resolved(field, defs), defs)
    if "anyOf" in field:
        return ", or ".join(dict.fromkeys(values(option, defs) for option in field["anyOf"]))
    if "enum" in field:
        return " | ".join(map(str, field["enum"]))
    if "const" in field:
        return str(field["const"])
    if "items" in field:
        each = values(field["items"], defs)
        return f"list of ({each})" if ", or " in each else f"list of {each}"
    if "properties" in field:
        return "section"
    return _plain(field)


def _plain(field: Schema) -> str:
    kind = {"object": "mapping", "string": "text", "boolean": "true | false"}.get(field["type"], str(field["type"]))
    bounds = [words.format(field[name]) for name, words in BOUNDS.items() if name in field]
    return " ".join([kind, " and ".join(bounds)]).strip()


def _description(field: Schema, defs: Schema) -> str:
    own = str(field.get("description", ""))
    return own or (_description(_resolved(field, defs), defs) if "$ref" in field else "")


def _resolved(field: Schema, defs: Schema) -> Schema:
    found: Schema = defs[field["$ref"].rpartition("/")[2]]
    return found
