"""The life of a training: checks, training, evaluation, in this order and each once.

A subclass fills in the four checks, `train` and `evaluate`; `run` calls them in order and keeps the state. A check may
be asynchronous or not; it fails by raising TrainerError or by returning False. `VeRLTrainer` is the one that trains.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final


class TrainerError(RuntimeError):
    """A training that cannot be started, or has failed."""


class TrainerState(StrEnum):
    """Where a trainer is in its life."""

    CREATED = "created"
    VALIDATING = "validating"
    VALIDATED = "validated"
    TRAINING = "training"
    TRAINED = "trained"
    EVALUATING = "evaluating"
    COMPLETE = "complete"
    ERROR = "error"


@dataclass(slots=True)
class TrainConfig:
    """Hyperparameters that any trainer has.

    `batch_size` counts prompts a step, `warmup_steps` and `eval_every` steps (0: none). `output_dir` is a folder
    (empty: the trainer chooses). `extra` is the trainer's own. Raises ValueError for numbers that make no sense.
    """

    epochs: int = 1
    batch_size: int = 8
    learning_rate: float = 1e-5
    output_dir: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    warmup_steps: int = 0
    eval_every: int = 0

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch_size", 1), ("warmup_steps", 0), ("eval_every", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, and is {getattr(self, name)}")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate must be above 0, and is {self.learning_rate}")


@dataclass(frozen=True, slots=True)
class TrainMetrics:
    """What a phase measured, None where nothing of the kind. `steps` counts updates, `extra` has the rest."""

    loss: float | None = None
    accuracy: float | None = None
    reward: float | None = None
    steps: int = 0
    extra: dict[str, Any] = field(default_factory=dict)


CHECKS: Final = ("check_agent", "check_dataset", "check_reward", "check_config")


class Trainer(ABC):
    """A training from its checks to its evaluation. `agent`, `dataset` and `reward_fn` are what it is given."""

    def __init__(
        self, config: TrainConfig | None = None, *, agent: Any = None, dataset: Any = None, reward_fn: Any = None
    ) -> None:
        self.config = config or TrainConfig()
        self.agent, self.dataset, self.reward_fn = agent, dataset, reward_fn
        self._state = TrainerState.CREATED

    @property
    def state(self) -> TrainerState:
        """Where it is in its life."""
        return self._state

    @abstractmethod
    def check_agent(self) -> Any:
        """Whether the agent can be trained."""

    @abstractmethod
    def check_dataset(self) -> Any:
        """Whether the data can be trained on."""

    @abstractmethod
    def check_reward(self) -> Any:
        """Whether the reward can be computed."""

    @abstractmethod
    def check_config(self) -> Any:
        """Whether the hyperparameters make sense."""

    @abstractmethod
    async def train(self) -> TrainMetrics:
        """Train."""

    @abstractmethod
    async def evaluate(self) -> TrainMetrics:
        """Measure what was trained."""

    def mark_validated(self) -> None:
        """Say that all checks have passed. Raises TrainerError when training has begun already."""
        if self._state not in (TrainerState.CREATED, TrainerState.VALIDATING, TrainerState.VALIDATED):
            raise TrainerError(f"a trainer that is {self._state} cannot be validated again")
        self._state = TrainerState.VALIDATED

    async def validate(self) -> None:
        """Run the four checks. Raises TrainerError that names those that failed; all are run."""
        failed = []
        with self.phase(TrainerState.VALIDATING, TrainerState.VALIDATED):
            for name in CHECKS:
                reason = await _failure(getattr(self, name))
                failed += [f"{name}: {reason}"] if reason else []
            if failed:
                raise TrainerError("; ".join(failed))

    async def run(self) -> TrainMetrics:
        """Validate, train and evaluate; what the evaluation measured."""
        if self._state is not TrainerState.VALIDATED:
            await self.validate()
        with self.phase(TrainerState.TRAINING, TrainerState.TRAINED):
            await self.train()
        with self.phase(TrainerState.EVALUATING, TrainerState.COMPLETE):
            return await self.evaluate()

    @contextmanager
    def phase(self, during: TrainerState, after: TrainerState) -> Iterator[None]:
        """The state while the block runs and when it has ended well; ERROR when not. Phases of one kind may nest."""
        if self._state is during:
            yield
            return
        self._state = during
        try:
            yield
        except BaseException:
            self._state = TrainerState.ERROR
            raise
        self._state = after


async def _failure(check: Callable[[], Any]) -> str | None:
    """Why a check fails, or None."""
    try:
        result = check()
        if inspect.isawaitable(result):
            waiting: Awaitable[Any] = result
            result = await waiting
    except TrainerError as error:
        return str(error)
    return "failed" if result is False else None
