"""`rewards`: what a good answer is worth."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from orbiter_spec.spec.base import (
    FiniteFloat,
    Fraction,
    GpuCount,
    Identifier,
    NodeCount,
    NonNegativeFloat,
    NonNegativeInt,
    Pair,
    PositiveFloat,
    PositiveInt,
    Section,
)
from orbiter_spec.spec.builtin_rewards import RESERVED_NAMES


class Gate(Section):
    """Another part that decides whether this one counts."""

    shorthand: ClassVar[str | None] = "part"

    part: str = Field(description="Name of the other part.")
    at_least: FiniteFloat = Field(1.0, description="Its value from which on this part counts. Left out: 1.")


class Steps(Section):
    """A response scored step by step."""

    shorthand: ClassVar[str | None] = "split"

    split: str | None = Field(
        None, description="Regular expression between two steps of a response. Left out: a blank line."
    )
    combine: Literal["mean", "sum", "min", "max", "last", "product"] | None = Field(
        None, description="How the steps' scores become one. Left out: mean."
    )
    discount: Fraction | None = Field(None, description="Each step counts this times the one before it. Left out: 1.")
    limit: PositiveInt | None = Field(None, description="Steps scored at most; the last holds the rest. Left out: 32.")


class Judge(Section):
    """A language model that grades answers by a rubric."""

    model: str | None = Field(
        None, description="Name of the model at its address. Left out: the path of rewards.model."
    )
    address: str | None = Field(
        None,
        description="Base address of an OpenAI-compatible service, such as https://api.example.com/v1. "
        "Left out: the model of rewards.model, which verl serves.",
    )
    api_key_env: Identifier | None = Field(
        None, description="Environment variable that holds the key; it is read where rewards run. Left out: no key."
    )
    rubric: str | None = Field(
        None,
        description="Jinja2 template of what the judge is asked, over the row's fields and response, expected, prompt, "
        "row, low, high and labels. Left out: a general one.",
    )
    instructions: str | None = Field(
        None, description="System prompt, before the words about the verdict's form. Left out: to grade strictly."
    )
    scale: Pair | None = Field(
        None, description="Lowest and highest grade; grades are brought to 0 to 1. Left out: 0 to 10."
    )
    labels: dict[str, FiniteFloat] | None = Field(
        None, description="Words to choose from instead of a number, and the score of each. Left out: a number."
    )
    verdict: dict[str, Any] | None = Field(
        None, description="JSON Schema of the verdict. Left out: a reason and the grade."
    )
    grade: str | None = Field(
        None, description="Field of the verdict that holds the grade. Left out: score, or label with labels."
    )
    structured: bool | None = Field(
        None, description="Ask the server to hold the judge to the schema (response_format). Left out: true."
    )
    samples: PositiveInt | None = Field(None, description="Verdicts for an answer, averaged. Left out: 1.")
    temperature: NonNegativeFloat | None = Field(None, description="Temperature of a verdict. Left out: 0.")
    max_tokens: PositiveInt | None = Field(None, description="Tokens of a verdict at most. Left out: 1024.")
    body: dict[str, Any] | None = Field(
        None, description="Further fields of the request, such as chat_template_kwargs. Left out: none."
    )
    timeout_seconds: PositiveFloat | None = Field(None, description="Time for one try. Left out: 60.")
    retries: NonNegativeInt | None = Field(
        None, description="Further tries when the judge is busy, fails or gives no usable verdict. Left out: 5."
    )
    concurrency: PositiveInt | None = Field(
        None, description="Questions in flight at once, for each process that scores. Left out: 16."
    )
    cache: bool | str | None = Field(
        None, description="Keep verdicts on disk: a folder, or false. Left out: the user's cache folder."
    )


class Reward(Section):
    """One part of the reward: a function of the user's, a built-in, or a judge."""

    shorthand: ClassVar[str | None] = "function"

    name: Identifier | None = Field(
        None, description="Name in metrics and records. Left out: that of the function or built-in, or judge."
    )
    function: str | None = Field(
        None, description="path/to/file.py:name or package.module:name. Left out: see builtin and judge."
    )
    builtin: str | None = Field(None, description="Name of a built-in reward. Left out: see function and judge.")
    judge: Judge | None = Field(None, description="A language model that grades. Left out: see function and builtin.")
    weight: FiniteFloat = Field(1.0, description="Factor of this part in the total. Left out: 1.")
    args: dict[str, Any] = Field(default_factory=dict, description="Keyword arguments of the function. Left out: none.")
    on_error: Literal["stop", "skip"] | FiniteFloat = Field(
        "stop",
        description="What happens when the function raises, takes too long or returns no finite number: stop ends the "
        "run, skip leaves the part out for that sample, a number counts instead. Left out: stop.",
    )
    error_limit: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="Share of the last 100 scores that may fail before the run ends all the same. Left out: 1."
    )
    sources: Annotated[list[str], Field(min_length=1)] | None = Field(
        None, description="Names of the data sources whose rows this part scores. Left out: every row."
    )
    only_if: Gate | None = Field(
        None, description="This part counts only where another one reaches a value. Left out: always."
    )
    range: Pair | None = Field(
        None, description="Lowest and highest value the function may return; others are errors. Left out: any."
    )
    normalize: Literal["range", "sigmoid", "running"] | None = Field(
        None,
        description="Bring the value to 0 to 1 by its range or by a sigmoid, or to standard deviations from the mean "
        "of what the process has scored. Left out: as it is.",
    )
    clip: Pair | None = Field(None, description="Cut the value, after normalizing, to these ends. Left out: no cut.")
    steps: Steps | None = Field(None, description="Score the response step by step. Left out: as a whole.")
    timeout_seconds: PositiveFloat | None = Field(
        None,
        description="Time for one call; the function then runs in a process of its own, which is ended with it, unless "
        "it is async. Left out: 600, in the process that scores.",
    )
    memory_megabytes: PositiveInt | None = Field(
        None, description="Memory for the function, in a process of its own. Left out: no limit."
    )
    concurrency: PositiveInt | None = Field(
        None, description="Calls at once, in each process that scores. Left out: 4 processes, else no limit."
    )
    batch: PositiveInt | None = Field(
        None,
        description="The function takes lists of up to this many samples and returns a list. Left out: one by one.",
    )

    @model_validator(mode="after")
    def _one_of(self) -> Reward:
        if sum(kind is not None for kind in (self.function, self.builtin, self.judge)) != 1:
            raise ValueError("give one of function, builtin and judge")
        return self

    @property
    def label(self) -> str:
        """The name that metrics and records use."""
        if self.name:
            return self.name
        own = self.builtin or ("judge" if self.judge else str(self.function).rpartition(":")[2])
        return f"{own}_reward" if own in RESERVED_NAMES else own


class RewardModel(Section):
    """A model that scores answers: a classifier (discriminative), or a judge that a scorer asks (generative)."""

    shorthand: ClassVar[str | None] = "path"

    path: str = Field(description="Hugging Face repository or local folder of the reward model.")
    nodes: NodeCount | None = Field(
        None, description="Nodes that only score. Left out: the model shares the training GPUs."
    )
    gpus_per_node: GpuCount | None = Field(None, description="GPUs on each of those nodes. Left out: 8.")
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
    """The parts of the reward, how they become one number, and how verl runs them.

    A list stands for its parts, a word for the scorer.
    """

    shorthand: ClassVar[str | None] = "parts"

    parts: list[Reward] = Field(
        default_factory=list,
        description="Functions, built-ins and judges; each counts weight times value. Left out: none.",
    )
    combine: Literal["sum", "product", "min"] | None = Field(
        None, description="How the parts become the total; product and min leave out parts of weight 0. Left out: sum."
    )
    clip: Pair | None = Field(None, description="Cut the total to these ends. Left out: no cut.")
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
