"""`rewards`: what a good answer is worth."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from orbiter_spec.spec.base import FiniteFloat, Fraction, NonNegativeFloat, PositiveInt, Section
from orbiter_spec.spec.builtin_rewards import RESERVED_NAMES

Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class Reward(Section):
    """One part of the reward: a function of the user's, or a built-in."""

    shorthand: ClassVar[str | None] = "function"

    name: Name | None = Field(None, description="Name in metrics and records. Left out: the function's name.")
    function: str | None = Field(
        None, description="path/to/file.py:name or package.module:name. Left out: see builtin."
    )
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
        own = self.builtin or str(self.function).rpartition(":")[2]
        return f"{own}_reward" if own in RESERVED_NAMES else own


class RewardModel(Section):
    """A model that scores answers: a classifier (discriminative), or a judge that a scorer asks (generative)."""

    shorthand: ClassVar[str | None] = "path"

    path: str = Field(description="Hugging Face repository or local folder of the reward model.")
    nodes: PositiveInt | None = Field(
        None, description="Nodes that only score. Left out: the model shares the training GPUs."
    )
    gpus_per_node: PositiveInt | None = Field(None, description="GPUs on each of those nodes. Left out: 8.")
    engine: Literal["vllm", "sglang", "trtllm"] | None = Field(
        None, description="Inference engine. Left out: the rollout's."
    )
    tensor_parallel: PositiveInt | None = Field(None, description="GPUs that share one replica. Left out: 2.")
    data_parallel: PositiveInt | None = Field(None, description="Data-parallel size inside a replica. Left out: 1.")
    memory_fraction: Fraction | None = Field(
        None, description="Share of a GPU's memory for weights and KV cache. Left out: 0.5."
    )
    prompt_tokens: PositiveInt | None = Field(None, description="Tokens of what is judged at most. Left out: 2048.")
    response_tokens: PositiveInt | None = Field(None, description="Tokens of a judgement at most. Left out: 2048.")
    max_sequence_tokens: PositiveInt | None = Field(
        None, description="Tokens of both together. Left out: the engine decides."
    )
    max_batched_tokens: PositiveInt | None = Field(None, description="Tokens in one engine step. Left out: 8192.")
    max_sequences: PositiveInt | None = Field(None, description="Sequences judged at once. Left out: 1024.")
    dtype: str | None = Field(None, description="Type of the weights. Left out: bfloat16.")
    cuda_graphs: bool | None = Field(None, description="Capture CUDA graphs. Left out: false.")
    free_cache: bool | None = Field(None, description="Release the KV cache between uses. Left out: true.")
    skip_tokenizer: bool | None = Field(None, description="Start the engine without a tokenizer. Left out: false.")
    temperature: NonNegativeFloat | None = Field(None, description="Temperature of a judge. Left out: 1.0.")
    further: dict[str, Any] | None = Field(
        None, description="Further keys of its rollout section, by verl's names. Left out: none."
    )
    engine_args: dict[str, Any] | None = Field(
        None, description="Further arguments of the engine, by its own names. Left out: none."
    )


class Sandbox(Section):
    """A code sandbox (Sandbox Fusion) that verl's own scoring sends programs to."""

    shorthand: ClassVar[str | None] = "url"

    url: str = Field(description="Address of the sandbox's run_code endpoint.")
    concurrent: PositiveInt | None = Field(None, description="Requests in flight at once. Left out: 64.")
    memory_megabytes: PositiveInt | None = Field(None, description="Memory of one program. Left out: 1024.")


class Rewards(Section):
    """The parts that are added up, and how verl runs them. A list stands for its parts, a word for the scorer."""

    shorthand: ClassVar[str | None] = "parts"

    parts: list[Reward] = Field(
        default_factory=list, description="Functions and built-ins; the total is the sum of weight times score."
    )
    scorer: str | None = Field(
        None,
        description="verl for verl's own scoring by data source, or file.py:name of a function with verl's own "
        "signature. Left out: the parts.",
    )
    args: dict[str, Any] | None = Field(None, description="Keyword arguments of the scorer. Left out: none.")
    manager: str | None = Field(
        None, description="verl reward manager, or file.py:Class of one. Left out: naive, or dapo with overlong."
    )
    manager_args: dict[str, Any] | None = Field(
        None, description="Keyword arguments of the reward manager. Left out: none."
    )
    workers: PositiveInt | None = Field(None, description="Processes that score. Left out: 8, and 1 on a CPU.")
    model: RewardModel | None = Field(None, description="A model that scores answers. Left out: none.")
    sandbox: Sandbox | None = Field(None, description="A sandbox that runs programs. Left out: none.")

    @model_validator(mode="before")
    @classmethod
    def _expand_list(cls, value: Any) -> Any:
        return {"parts": value} if isinstance(value, list) else value

    @model_validator(mode="after")
    def _one_of(self) -> Rewards:
        if self.parts and self.scorer is not None:
            raise ValueError("give either parts or scorer")
        if not self.parts and self.scorer is None and self.model is None:
            raise ValueError("give parts, a scorer or a model")
        return self

    @classmethod
    def expand(cls, scalar: Any) -> dict[str, Any]:
        """`verl` is the scorer, any other word one function as a list of one part."""
        return {"scorer": scalar} if scalar == "verl" else {"parts": [scalar]}

    @classmethod
    def shorthand_schema(cls, schema: dict[str, Any]) -> dict[str, Any]:
        """A list of parts with at least one, or one word."""
        parts = dict(schema["properties"]["parts"], description="Parts that are added up.", minItems=1)
        parts.pop("default", None)
        return {"anyOf": [parts, {"type": "string"}]}
