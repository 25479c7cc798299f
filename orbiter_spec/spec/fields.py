"""Every field of the language by its route, for references, `explain` and the tests that hold tables to it."""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

from orbiter_spec.spec.base import Section


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """One field: its route with `[]` for list items, its sentence, and the section it opens if any."""

    route: str
    description: str
    section: type[Section] | None


@cache
def fields() -> dict[str, FieldInfo]:
    """All fields, sections included, in the order of the language."""
    from orbiter_spec.spec.experiment import Experiment

    return {info.route: info for info in _walk(Experiment, "")}


def _walk(section: type[Section], prefix: str) -> Iterator[FieldInfo]:
    for name, field in section.model_fields.items():
        route = f"{prefix}{name}"
        inner, in_list = _section_of(field.annotation)
        yield FieldInfo(route, field.description or "", inner)
        if inner is not None:
            yield from _walk(inner, f"{route}[]." if in_list else f"{route}.")


def _section_of(annotation: Any, in_list: bool = False) -> tuple[type[Section] | None, bool]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation, in_list
    origin = get_origin(annotation)
    if origin is Annotated:
        return _section_of(get_args(annotation)[0], in_list)
    if origin in (Union, types.UnionType, list):
        for option in get_args(annotation):
            found, listed = _section_of(option, in_list or origin is list)
            if found is not None:
                return found, listed
    return None, False


def shorthand(route: tuple[str | int, ...]) -> str | None:
    """The field that a lone scalar at `route` stands for; of a list, that of its items."""
    from orbiter_spec.spec.experiment import Experiment

    section: type[Section] | None = Experiment
    in_list = False
    for name in route:
        field = section.model_fields.get(str(name)) if section is not None and not in_list else None
        section, in_list = _section_of(field.annotation) if field is not None else (None, False)
    return section.shorthand if section is not None else None
