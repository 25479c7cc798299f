"""The whole experiment: the table of contents of the language."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from orbiter_spec.spec.agent import Agent
from orbiter_spec.spec.algorithm import Algorithm
from orbiter_spec.spec.base import NonNegativeInt, Section
from orbiter_spec.spec.dataset import Dataset
from orbiter_spec.spec.hardware import Hardware
from orbiter_spec.spec.rewards import Rewards
from orbiter_spec.spec.run import Run
from orbiter_spec.spec.verl import Verl

ExperimentName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


class Experiment(Section):
    """One RL post-training experiment."""

    version: Literal[1] = Field(description="Version of the language.")
    name: ExperimentName = Field(description="Name of the experiment: letters, digits, dot, dash and underscore.")
    project: ExperimentName | None = Field(None, description="Project in experiment trackers. Left out: orbiter.")
    seed: NonNegativeInt | None = Field(
        None, description="Seed of data order, sampling and initial weights. Left out: 42."
    )
    extends: str | list[str] | None = Field(None, description="Specs merged beneath this one. Left out: none.")
    agent: Agent = Field(description="Who answers: the model, what it is asked, and its limits.")
    dataset: Dataset = Field(description="The rows to train on and to validate with.")
    rewards: Rewards = Field(description="What a good answer is worth: a list of parts that are added up.")
    algorithm: Algorithm = Field(description="How rewards become updates.")
    hardware: Hardware = Field(description="Machines, and how training and generation are laid over them.")
    run: Run | None = Field(None, description="Where results go. Left out: runs/ beside the spec.")
    verl: Verl | None = Field(None, description="The target release, and the hatch. Left out: 0.9.1, no hatch.")
