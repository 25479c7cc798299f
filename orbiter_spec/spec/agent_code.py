"""`agent.environment` and `agent.tools`: code of the user's that the model meets while it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, create_model, model_validator

from orbiter_spec.spec.base import FiniteFloat, NonNegativeInt, PositiveFloat, PositiveInt, Section

Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")]


class EnvironmentFields(Section):
    """A game, a simulator or a service: it is reset, reads what the model writes, answers and rewards."""

    shorthand: ClassVar[str | None] = "class"

    gymnasium: str | None = Field(
        None, description="Id of a Gymnasium environment, such as FrozenLake-v1. Left out: see class."
    )
    verifiers: str | None = Field(
        None,
        description="Id of an installed environment of the verifiers package, or path/to/file.py:load_environment. "
        "Left out: see class.",
    )
    args: dict[str, Any] = Field(default_factory=dict, description="Arguments of the class, the same for every row.")
    columns: dict[str, str] = Field(
        default_factory=dict, description="Arguments of the class that the row fills: argument to column."
    )
    timeout_seconds: PositiveFloat | None = Field(
        None, description="Time for one reset or step; then the episode is begun again. Left out: 60."
    )
    retries: NonNegativeInt | None = Field(
        None, description="Times an episode is begun again after its environment failed or hung. Left out: 1."
    )
    on_error: Literal["stop"] | FiniteFloat = Field(
        "stop", description="The return of an episode whose environment failed every time, or stop to end the run."
    )
    memory_megabytes: PositiveInt | None = Field(
        None, description="Memory of one environment beyond what its imports take. Left out: 4096."
    )
    episodes_per_process: PositiveInt | None = Field(
        None,
        description="Episodes that one process plays, one after another; 1 gives each a fresh one, so that nothing "
        "that a module remembers goes from one to the next. Left out: 64.",
    )
    concurrent: PositiveInt | None = Field(
        None, description="Environments (and tool calls) alive at once in one agent worker. Left out: 256."
    )
    credit: Literal["episode", "step"] | None = Field(
        None,
        description="Where the environment's reward stands: at the end of the episode, or each step's at the end of "
        "its turn, which token-level advantages tell apart. Left out: episode.",
    )


class ToolFields(Section):
    """One tool: a Python function with type hints and a docstring, or a class that is a verl tool."""

    shorthand: ClassVar[str | None] = "function"

    function: str | None = Field(None, description="path/to/file.py:name or package.module:name. Left out: see class.")
    name: Name | None = Field(None, description="Name that the model calls. Left out: the function's or class's own.")
    config: dict[str, Any] = Field(default_factory=dict, description="What the class is made with.")
    timeout_seconds: PositiveFloat | None = Field(
        None, description="Time for one call; then the model is told that it failed. Left out: 30."
    )
    memory_megabytes: PositiveInt | None = Field(
        None, description="Memory of one call of a function, beyond what imports take. Left out: 4096."
    )
    calls_per_process: PositiveInt | None = Field(
        None,
        description="Calls of a function that one process answers, one after another; use 1 for tools that execute "
        "what the model wrote. Left out: 64.",
    )
    on_error: Literal["show", "stop"] = Field("show", description="Show the model what went wrong, or stop the run.")


_ENVIRONMENT_CLASS = Field(
    None,
    description="path/to/file.py:Class or package.module:Class of the environment. Left out: see gymnasium and "
    "verifiers.",
)
_TOOL_CLASS = Field(
    None, description="path/to/file.py:Class of a tool as verl knows it (BaseTool). Left out: see function."
)


class _OneEnvironment(EnvironmentFields):
    @model_validator(mode="after")
    def _one_of(self) -> _OneEnvironment:
        kinds = (getattr(self, "class"), self.gymnasium, self.verifiers)
        if sum(kind is not None for kind in kinds) != 1:
            raise ValueError("give one of class, gymnasium and verifiers")
        return self


class _OneTool(ToolFields):
    @model_validator(mode="after")
    def _one_of(self) -> _OneTool:
        if (getattr(self, "class") is None) == (self.function is None):
            raise ValueError("give either function or class")
        return self


if TYPE_CHECKING:
    from typing import TypeAlias

    Environment: TypeAlias = EnvironmentFields
    Tool: TypeAlias = ToolFields
else:
    # `class` is the right word for the reader of a spec, and no name that a class body can define.
    Environment = create_model(
        "Environment",
        __base__=_OneEnvironment,
        __doc__=EnvironmentFields.__doc__,
        **{"class": (str | None, _ENVIRONMENT_CLASS)},
    )
    Tool = create_model("Tool", __base__=_OneTool, __doc__=ToolFields.__doc__, **{"class": (str | None, _TOOL_CLASS)})
