"""`run`: where results go, how often they are checked and kept."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from orbiter_spec.spec.base import Fraction, NonNegativeFloat, NonNegativeInt, PositiveInt, Section

Content = Literal["model", "optimizer", "extra", "hf_model"]


class Checkpoint(Section):
    """How often the state is saved, and what is kept."""

    every: PositiveInt | None = Field(None, description="Steps between checkpoints. Left out: only at the end.")
    keep: PositiveInt | None = Field(None, description="Checkpoints kept. Left out: all.")
    resume: Literal["auto", "never"] | str | None = Field(
        None, description="auto, never, or the folder of a checkpoint. Left out: never; run --resume goes on."
    )
    contents: list[Content] | None = Field(
        None, description="What is saved. Left out: model, optimizer and extra."
    )
    load: list[Content] | None = Field(None, description="What is loaded. Left out: what is saved.")
    asynchronous: bool | None = Field(None, description="Save in the background (Megatron). Left out: false.")
    folder: str | None = Field(None, description="Folder of checkpoints. Left out: inside the run folder.")


class Evaluate(Section):
    """Validation during training."""

    every: PositiveInt | None = Field(None, description="Steps between validations. Left out: only at the end.")
    before_training: bool | None = Field(None, description="Validate before the first step. Left out: true.")
    only: bool | None = Field(None, description="Validate and stop. Left out: false.")
    samples: PositiveInt | None = Field(None, description="Answers per validation prompt. Left out: 1.")
    temperature: NonNegativeFloat | None = Field(None, description="Temperature; 0 is greedy. Left out: 0.")
    top_p: Fraction | None = Field(None, description="Nucleus probability. Left out: 1.0.")
    top_k: int | None = Field(None, ge=-1, description="Most likely tokens kept; -1 keeps all. Left out: -1.")
    sample: bool | None = Field(None, description="Draw instead of greedy. Left out: true when temperature is above 0.")
    log_samples: NonNegativeInt | None = Field(None, description="Validation answers sent to loggers. Left out: 0.")
    limit: PositiveInt | None = Field(None, description="Validation rows verl takes. Left out: all.")


class Profile(Section):
    """Profiling of chosen steps."""

    tool: Literal["nsys", "npu", "torch", "torch_memory", "precision_debugger"] = Field(description="The profiler.")
    steps: list[NonNegativeInt] | None = Field(None, description="Steps that are profiled. Left out: none.")
    roles: dict[str, dict[str, Any]] | None = Field(
        None, description="Profiler settings of a role, by verl's names. Left out: all off."
    )
    folder: str | None = Field(None, description="Where traces go. Left out: outputs/profile.")
    join_steps: bool | None = Field(None, description="Write neighbouring steps into one trace. Left out: false.")
    options: dict[str, Any] | None = Field(None, description="Settings of the tool, by its names. Left out: none.")


class Trace(Section):
    """Tracing of agent loops."""

    backend: Literal["mlflow", "weave", "trackio", "rl_insight"] = Field(description="Where traces go.")
    text: bool | None = Field(None, description="Record text beside tokens. Left out: false.")
    samples_per_worker: PositiveInt | None = Field(None, description="Samples traced per step. Left out: all.")


class Run(Section):
    """Where results go, how often they are checked and kept."""

    output: str | None = Field(None, description="Folder of run folders, relative to the spec. Left out: runs.")
    checkpoint: Checkpoint | None = Field(None, description="Saving. Left out: at the end of training.")
    evaluate: Evaluate | None = Field(None, description="Validation. Left out: before training and at the end.")
    log: Annotated[list[str], Field(min_length=1)] | None = Field(
        None, description="verl loggers. Left out: console. A run always writes metrics.jsonl as well."
    )
    save_rollouts: bool | None = Field(None, description="Write each training answer to rollouts/. Left out: true.")
    deterministic: bool | None = Field(None, description="Deterministic kernels everywhere. Left out: false.")
    profile: Profile | None = Field(None, description="Profiling of chosen steps. Left out: none.")
    trace: Trace | None = Field(None, description="Tracing of agent loops. Left out: none.")
