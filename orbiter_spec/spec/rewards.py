"""`rewards`: what a good answer is worth."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from orbiter_spec.spec.base import FiniteFloat, PositiveInt, Section

Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class Reward(Section):
    """One part of the reward: a function of the user's, or a built-in."""

    shorthand: ClassVar[str | None] = "function"

    name: Name | None = Field(None, description="Name in metrics and records. Left out: the function's name.")
    function: str | None = Field(None, description="path/to/file.py:name or package.module:name. Left out: see builtin.")
    builtin: str | None = Field(None, description="Name of a built-in reward. Left out: see function.")
    weight: FiniteFloat = Field(1.0, description="Factor of this part in the total.")
    args: dict[str, Any] = Field(default_factory=dict, description="Keyword arguments of the function.")
    on_error: Literal["stop"] | FiniteFloat = Field(
        "stop", description="What a sample scores when the function raises or returns NaN, or stop to end the run."
    )

    @model_validator(mode="after")
    def _one_of(self) -> Reward:
        if (self.function is None) == (self.builtin is None):
            raise ValueError("give either function or builtin")
        return self

    @property
    def label(self) -> str:
        """The name that metrics and records use."""
        if self.name:
            return self.name
        return self.builtin or str(self.function).rpartition(":")[2]


class Rewards(Section):
    """The parts that are added up, and how verl runs them. A list stands for its parts."""

    shorthand: ClassVar[str | None] = "parts"

    parts: Annotated[list[Reward], Field(min_length=1)] = Field(
        description="Functions and built-ins; the total is the sum of weight times score."
    )
    manager: str | None = Field(None, description="verl reward manager. Left out: naive, or dapo with overlong.")
    workers: PositiveInt | None = Field(None, description="Processes that score. Left out: 8, and 1 on a CPU.")

    @model_validator(mode="before")
    @classmethod
    def _expand_list(cls, value: Any) -> Any:
        return {"parts": value} if isinstance(value, list) else value

    @classmethod
    def expand(cls, scalar: Any) -> dict[str, Any]:
        """One function as a list of one part."""
        return {"parts": [scalar]}

    @classmethod
    def shorthand_schema(cls, schema: dict[str, Any]) -> dict[str, Any]:
        """A list of parts."""
        return dict(schema["properties"]["parts"], description="Parts that are added up.")
