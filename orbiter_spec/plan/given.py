"""What the user gave, flat: spec route to value. Sections open up; mappings of free keys and lists stay whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orbiter_spec.spec.base import Section
from orbiter_spec.spec.experiment import Experiment


def flatten(experiment: Experiment) -> dict[str, Any]:
    """Every value that was written, by its route. `dataset.train` and `rewards` stay lists of models."""
    return dict(_walk(experiment, ""))


def _walk(section: Section, prefix: str) -> Iterator[tuple[str, Any]]:
    for name in type(section).model_fields:
        value = getattr(section, name)
        route = f"{prefix}{name}"
        if value is None or name not in section.model_fields_set:
            continue
        if isinstance(value, Section):
            yield route, value
            yield from _walk(value, f"{route}.")
        else:
            yield route, value
