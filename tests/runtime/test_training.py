"""A run that goes wrong inside verl ends with its reason; runs that go well are in tests/training."""

from __future__ import annotations

import re

import pytest

from tests.runtime.conftest import Training, workers

GRPO = {"algorithm.adv_estimator": "grpo"}


@pytest.mark.training
@pytest.mark.timeout(300)
def test_a_model_that_diverged_stops_the_run_with_the_reason(training: Training) -> None:
    diverging = {"actor_rollout_ref.actor.optim.lr": 1e30, "actor_rollout_ref.actor.optim.clip_grad": 1e30}
    trained = training.run(GRPO, workers(1), diverging, {"trainer.val_before_train": False}, timeout=270)
    assert trained.returncode != 0
    assert re.search(r"could not be generated or scored\. The first reason:\n(.*\n)*.*logits are NaN", trained.log)
    assert trained.processes == []
