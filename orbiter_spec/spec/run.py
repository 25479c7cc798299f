"""`run`: where results go, how often they are checked and kept."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from orbiter_spec.spec.base import Fraction, NonNegativeFloat, NonNegativeInt, PositiveInt, Section

NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*(=[\s\S]*)?$"
Content = Literal["model", "optimizer", "extra", "hf_model"]


class Checkpoint(Section):
    """How often the state is saved, and what is kept."""

    every: PositiveInt | Literal["never"] | None = Field(
        None, description="Steps between checkpoints, or never. Left out: only at the end."
    )
    keep: PositiveInt | None = Field(None, description="Checkpoints kept. Left out: all.")
    resume: Literal["auto", "never"] | str | None = Field(
        None, description="auto, never, or the folder of a checkpoint. Left out: never; run --resume goes on."
    )
    contents: list[Content] | None = Field(None, description="What is saved. Left out: model, optimizer and extra.")
    load: list[Content] | None = Field(None, description="What is loaded. Left out: what is saved.")
    asynchronous: bool | None = Field(None, description="Save in the background (Megatron). Left out: false.")
    strict: bool | None = Field(None, description="Refuse a checkpoint with missing keys. Left out: true.")
    mbridge: dict[str, Any] | None = Field(
        None, description="Settings of mbridge when it saves (Megatron), by its names. Left out: none."
    )
    remote_folder: str | None = Field(None, description="HDFS folder that checkpoints are copied to. Left out: none.")
    delete_after_load: bool | None = Field(
        None, description="Delete the local copy once it has been loaded. Left out: false."
    )
    expiry_seconds: NonNegativeInt | None = Field(
        None, description="Save this long before the machine is reclaimed. Left out: 0, never."
    )
    folder: str | None = Field(None, description="Folder of checkpoints. Left out: inside the run folder.")


class Evaluate(Section):
    """Validation during training."""

    every: PositiveInt | Literal["never"] | None = Field(
        None, description="Steps between validations, or never. Left out: only at the end."
    )
    before_training: bool | None = Field(None, description="Validate before the first step. Left out: true.")
    only: bool | None = Field(None, description="Validate and stop. Left out: false.")
    samples: PositiveInt | None = Field(None, description="Answers per validation prompt. Left out: 1.")
    temperature: NonNegativeFloat | None = Field(None, description="Temperature; 0 is greedy. Left out: 0.")
    top_p: Fraction | None = Field(None, description="Nucleus probability. Left out: 1.0.")
    top_k: int | None = Field(None, ge=-1, description="Most likely tokens kept; -1 keeps all. Left out: -1.")
    sample: bool | None = Field(None, description="Draw instead of greedy. Left out: true when temperature is above 0.")
    log_samples: NonNegativeInt | None = Field(None, description="Validation answers sent to loggers. Left out: 0.")
    limit: PositiveInt | None = Field(None, description="Validation rows verl takes. Left out: all.")
    batch: PositiveInt | None = Field(None, description="Validation prompts answered at once. Left out: all.")


class ProfileRole(Section):
    """Profiling of one role."""

    enabled: bool | None = Field(None, description="Profile this role. Left out: false.")
    ranks: list[NonNegativeInt] | None = Field(None, description="Processes that are profiled. Left out: none.")
    all_ranks: bool | None = Field(None, description="Profile every process. Left out: false.")
    folder: str | None = Field(None, description="Where its traces go. Left out: the profile's folder.")
    options: dict[str, Any] | None = Field(None, description="Settings of the tool for this role. Left out: none.")


class ProfileRoles(Section):
    """Profiling role by role."""

    actor: ProfileRole | None = Field(None, description="The policy's training. Left out: off.")
    reference: ProfileRole | None = Field(None, description="The reference model. Left out: off.")
    rollout: ProfileRole | None = Field(None, description="The inference engine. Left out: off.")
    critic: ProfileRole | None = Field(None, description="The critic. Left out: off.")


class Profile(Section):
    """Profiling of chosen steps."""

    tool: Literal["nsys", "npu", "torch", "torch_memory", "precision_debugger"] | None = Field(
        None, description="The profiler. Left out: none, so that roles alone profile nothing."
    )
    steps: list[NonNegativeInt] | None = Field(None, description="Steps that are profiled. Left out: none.")
    roles: ProfileRoles | None = Field(None, description="Profiling role by role. Left out: all off.")
    folder: str | None = Field(None, description="Where traces go. Left out: outputs/profile.")
    join_steps: bool | None = Field(None, description="Write neighbouring steps into one trace. Left out: false.")
    options: dict[str, Any] | None = Field(None, description="Settings of the tool, by its names. Left out: none.")


class Trace(Section):
    """Tracing of agent loops."""

    backend: Literal["mlflow", "weave", "trackio", "rl_insight"] | None = Field(
        None, description="Where traces go. Left out: nowhere."
    )
    text: bool | None = Field(None, description="Record text beside tokens. Left out: false.")
    samples_per_worker: PositiveInt | None = Field(None, description="Samples traced per step. Left out: all.")


class Secret(Section):
    """Where the value of a secret comes from, read where verl starts; the value is written nowhere."""

    environment: str | None = Field(None, description="Variable that holds it. Left out: the variable of its name.")
    file: str | None = Field(None, description="File that holds it. Left out: it is read from the environment.")


class Run(Section):
    """Where results go, how often they are checked and kept."""

    output: str | None = Field(None, description="Folder of run folders, relative to the spec. Left out: runs.")
    checkpoint: Checkpoint | None = Field(None, description="Saving. Left out: at the end of training.")
    evaluate: Evaluate | None = Field(None, description="Validation. Left out: before training and at the end.")
    log: str | Annotated[list[str], Field(min_length=1)] | None = Field(
        None, description="verl loggers, or one. Left out: console. A run always writes metrics.jsonl as well."
    )
    save_rollouts: bool | str | None = Field(
        None, description="Write each training answer to rollouts/, to a folder of this name, or not. Left out: true."
    )
    save_validations: bool | str | None = Field(
        None, description="Write validation answers to validation/, to a folder of this name, or not. Left out: true."
    )
    timeline: str | None = Field(None, description="File that Ray's timeline is written to. Left out: none.")
    retries: NonNegativeInt | None = Field(
        None, description="Times a failed run goes on by itself from its last whole checkpoint. Left out: 0."
    )
    env: list[Annotated[str, Field(pattern=VARIABLE)]] | None = Field(
        None, description="Environment variables of verl: NAME passes one on, NAME=VALUE sets it. Left out: none."
    )
    secrets: dict[Annotated[str, Field(pattern=NAME)], Secret] | None = Field(
        None, description="Variables whose values are secret, by name, as references. Left out: none."
    )
    deterministic: bool | None = Field(None, description="Deterministic kernels everywhere. Left out: false.")
    profile: Profile | None = Field(None, description="Profiling of chosen steps. Left out: none.")
    trace: Trace | None = Field(None, description="Tracing of agent loops. Left out: none.")
