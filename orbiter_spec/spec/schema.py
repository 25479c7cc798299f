"""The JSON Schema of the language, generated from the models.

Two changes make the generated schema read well in an editor: `null` branches and defaults of None disappear (a field is
left out, not nulled), and titles, which only repeat the key, are dropped.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"


def generate_schema() -> dict[str, Any]:
    """Build the schema from the pydantic models; slow, so commands read `packaged_schema` instead."""
    from orbiter_spec.spec.experiment import Experiment

    schema = _simplify(Experiment.model_json_schema(mode="validation"))
    return {"$schema": SCHEMA_ID, "title": "orbiter-spec experiment", **schema}


def schema_text(schema: dict[str, Any]) -> str:
    """The schema as it stands in `schemas/experiment.schema.json`."""
    return json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


@cache
def packaged_schema() -> dict[str, Any]:
    """The generated schema that ships with the package."""
    text = resources.files("orbiter_spec.spec").joinpath("experiment.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _simplify(node: Any, *, names: bool = False) -> Any:
    """Drop nulls, None defaults and titles; `names` marks a mapping whose keys are names, not schema words."""
    if isinstance(node, list):
        return [_simplify(item) for item in node]
    if not isinstance(node, dict):
        return node
    if names:
        return {name: _simplify(value) for name, value in node.items()}
    kept = {
        key: _simplify(value, names=key in ("properties", "$defs"))
        for key, value in node.items()
        if not (key == "title" or (key == "default" and value is None))
    }
    options = kept.get("anyOf")
    if options is None:
        return kept
    options = _flatten([option for option in options if option != {"type": "null"}])
    del kept["anyOf"]
    return {**options[0], **kept} if len(options) == 1 else {**kept, "anyOf": options}


def _flatten(options: list[Any]) -> list[Any]:
    nested = [option["anyOf"] if set(option) == {"anyOf"} else [option] for option in options]
    return [option for group in nested for option in group]
