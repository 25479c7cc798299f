"""Real verl, Ray and FSDP2 on the CPU through verl's own entry point, a few steps each."""

from __future__ import annotations

import re

import pytest

from tests.runtime.conftest import Training, workers

PEARSON = "training/rollout_actor_probs_pearson_corr"
VALIDATION = "val-core/digits/acc/mean@1"
GRPO = {"algorithm.adv_estimator": "grpo"}
PPO = {
    "algorithm.adv_estimator": "gae",
    "critic.enable": True,
    "actor_rollout_ref.actor.use_kl_loss": True,
    "actor_rollout_ref.actor.kl_loss_type": "low_var_kl",
}


@pytest.mark.training
@pytest.mark.timeout(300)
def test_grpo_with_one_worker_and_no_environment_variables(training: Training) -> None:
    trained = training.run(GRPO, workers(1), {"trainer.total_training_steps": 4}, timeout=240)
    assert trained.returncode == 0, trained.log[-3000:]
    assert [line["step"] for line in trained.metrics] == [0, 1, 2, 3, 4]
    assert min(trained.series(PEARSON)) > 0.99999
    assert max(trained.series("training/rollout_probs_diff_max")) < 1e-5
    before, after = trained.series(VALIDATION)
    assert before < 0.3 < after
    assert trained.processes == []


@pytest.mark.training
@pytest.mark.timeout(600)
def test_ppo_with_critic_reference_and_two_workers_resumes(training: Training) -> None:
    checkpoints = {"trainer.save_freq": 1, "trainer.max_actor_ckpt_to_keep": 1, "trainer.max_critic_ckpt_to_keep": 1}
    first = training.run(PPO, workers(2), checkpoints, {"trainer.total_training_steps": 2}, timeout=270)
    assert first.returncode == 0, first.log[-3000:]
    assert len(first.series("critic/vf_loss")) == len(first.series("actor/kl_loss")) == 2
    assert first.series("actor/kl_loss")[0] == pytest.approx(0, abs=1e-6)
    assert first.series("actor/kl_loss")[1] > 1e-6, "the reference model does not move with the actor"
    second = training.run(PPO, workers(2), checkpoints, {"trainer.total_training_steps": 3}, timeout=270)
    assert second.returncode == 0, second.log[-3000:]
    assert [line["step"] for line in second.metrics] == [2, 3]
    assert second.series(VALIDATION)[0] == pytest.approx(first.series(VALIDATION)[-1], abs=0.1)
    assert min(first.series(PEARSON) + second.series(PEARSON)) > 0.99999
    assert first.processes == second.processes == []


@pytest.mark.training
@pytest.mark.timeout(300)
def test_a_model_that_diverged_stops_the_run_with_the_reason(training: Training) -> None:
    diverging = {"actor_rollout_ref.actor.optim.lr": 1e30, "actor_rollout_ref.actor.optim.clip_grad": 1e30}
    trained = training.run(GRPO, workers(1), diverging, {"trainer.val_before_train": False}, timeout=270)
    assert trained.returncode != 0
    assert re.search(r"could not be generated or scored\. The first reason:\n(.*\n)*.*logits are NaN", trained.log)
    assert trained.processes == []
