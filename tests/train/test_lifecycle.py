"""States of a trainer: in order, and an error wherever one belongs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from orbiter_spec.train import TrainConfig, Trainer, TrainerError, TrainerState, TrainMetrics


class Recorder(Trainer):
    """Writes down its states; any check can be told to fail."""

    def __init__(self, **fails: Any) -> None:
        super().__init__(TrainConfig(epochs=2), agent="a", dataset=[1])
        self.fails = fails
        self.seen: list[TrainerState] = []

    def _check(self, name: str) -> Any:
        self.seen.append(self.state)
        outcome = self.fails.get(name, True)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def check_agent(self) -> bool:
        return self._check("agent")

    def check_dataset(self) -> None:
        self._check("dataset")

    async def check_reward(self) -> bool:
        return self._check("reward")

    async def check_config(self) -> bool:
        return self._check("config")

    async def train(self) -> TrainMetrics:
        self._check("train")
        return TrainMetrics(loss=0.5)

    async def evaluate(self) -> TrainMetrics:
        self._check("evaluate")
        return TrainMetrics(loss=0.3, accuracy=0.9)


def test_a_training_goes_through_its_states() -> None:
    trainer = Recorder()
    assert trainer.state is TrainerState.CREATED
    assert asyncio.run(trainer.run()) == TrainMetrics(loss=0.3, accuracy=0.9)
    assert trainer.seen == ["validating"] * 4 + ["training", "evaluating"]
    assert trainer.state is TrainerState.COMPLETE


def test_all_failed_checks_are_named() -> None:
    trainer = Recorder(agent=False, reward=TrainerError("no reward"))
    with pytest.raises(TrainerError, match="check_agent: failed; check_reward: no reward"):
        asyncio.run(trainer.run())
    assert trainer.state is TrainerState.ERROR
    assert "training" not in trainer.seen


@pytest.mark.parametrize("where", ["train", "evaluate"])
def test_an_exception_leaves_the_error_state(where: str) -> None:
    trainer = Recorder(**{where: OSError("disk")})
    with pytest.raises(OSError, match="disk"):
        asyncio.run(trainer.run())
    assert trainer.state is TrainerState.ERROR


def test_marking_replaces_the_checks_and_only_before_training() -> None:
    trainer = Recorder(agent=False)
    trainer.mark_validated()
    asyncio.run(trainer.run())
    with pytest.raises(TrainerError, match="complete"):
        trainer.mark_validated()


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"batch_size": 0}, {"learning_rate": 0.0}, {"warmup_steps": -1}])
def test_settings_have_bounds(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        TrainConfig(**wrong)
