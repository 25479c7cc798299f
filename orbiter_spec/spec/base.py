"""What every section of the language shares: strictness, shorthands and number types.

A field that is left out is None: the planner decides it and says so. A constant default appears here only where nothing
about the experiment could change it. Every field carries one sentence; it becomes the schema description, the help text
and the reference.

A shorthand (one scalar instead of a mapping) is a class attribute, not a validator per class, so that the JSON Schema
and the models accept the same words.

The validator of a section is made when a spec first has that section. Most specs have a few dozen of some eighty, and
pydantic, left to itself, makes all of them before it looks at the first value: a tenth of a second of every command.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema, core_schema

PLUGINS = "PYDANTIC_DISABLE_PLUGINS"
_BEING_MADE: ContextVar[type[Section] | None] = ContextVar("being_made", default=None)
"""The section whose own validator pydantic is making; the others it meets stand in it by name."""

PositiveInt = Annotated[int, Field(ge=1)]
NodeCount = Annotated[int, Field(ge=1, le=10_000)]
GpuCount = Annotated[int, Field(ge=1, le=128)]
NonNegativeInt = Annotated[int, Field(ge=0)]
PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegativeFloat = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
FiniteFloat = Annotated[float, Field(allow_inf_nan=False)]
Pair = Annotated[list[FiniteFloat], Field(min_length=2, max_length=2)]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class Section(BaseModel):
    """A mapping of the language: unknown keys are errors, values are never coerced from strings."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, protected_namespaces=(), defer_build=True)

    shorthand: ClassVar[str | None] = None
    """The field that a lone scalar stands for, for example `path` in `model: Qwen/Qwen2.5-7B`."""

    @classmethod
    def expand(cls, scalar: Any) -> dict[str, Any]:
        """The mapping that a lone scalar stands for."""
        return {cls.shorthand: scalar} if cls.shorthand else {}

    @classmethod
    def model_rebuild(cls, **said: Any) -> bool | None:
        """Make the validator, as pydantic does at first use, without its search for plugins."""
        token = _BEING_MADE.set(cls)
        try:
            with _without_plugins():
                return super().model_rebuild(**said)
        finally:
            _BEING_MADE.reset(token)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if _BEING_MADE.get() is cls:
            return handler(source)
        name = f"{cls.__module__}.{cls.__qualname__}:{id(cls)}"  # as pydantic names it, for the JSON Schema
        return core_schema.no_info_plain_validator_function(cls.model_validate, ref=name)

    @model_validator(mode="before")
    @classmethod
    def _expand_shorthand(cls, value: Any) -> Any:
        if cls.shorthand is not None and isinstance(value, (str, int, float)):
            return cls.expand(value)
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        if core["type"] == "function-plain":
            cls.model_rebuild()
            core = cls.__pydantic_core_schema__
        schema = handler.resolve_ref_schema(handler(core))
        if cls.shorthand is None:
            return schema
        scalar = cls.shorthand_schema(schema)
        described = {"description": schema.get("description", ""), "anyOf": [scalar, {**schema}]}
        described["anyOf"][1].pop("description", None)
        return described

    @classmethod
    def shorthand_schema(cls, schema: dict[str, Any]) -> dict[str, Any]:
        """The JSON Schema of the lone scalar; by default that of the field it stands for."""
        field = dict(schema["properties"][cls.shorthand])
        field.pop("default", None)
        options = [option for option in field.get("anyOf", [field]) if option.get("type") != "null"]
        return options[0] if len(options) == 1 else {"anyOf": options}


@contextmanager
def _without_plugins() -> Iterator[None]:
    """Where pydantic looks for no plugins: it would read the entry points of every installed package for them."""
    before = os.environ.get(PLUGINS)
    os.environ[PLUGINS] = "__all__"
    try:
        yield
    finally:
        if before is None:
            del os.environ[PLUGINS]
        else:
            os.environ[PLUGINS] = before
