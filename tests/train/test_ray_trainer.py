"""A trainer of environments in Python is a run like any other: the published scripts work as they are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.compiler import check
from orbiter_spec.train import (
    BaseEnvironment,
    ConfigStore,
    RayPPOTrainer,
    SimpleGameEnvironment,
    TrainerError,
    Trajectory,
    create_trainer,
)
from orbiter_spec.train.ray_trainer import by_epoch


class Letters(BaseEnvironment):
    """The first letter decides: a to m goes on, n to z wins."""

    def reset(self) -> str:
        self.score = 0
        return "take or use?"

    def step(self, action: str) -> tuple[str, float, bool, dict[str, Any]]:
        won = "n" <= action.strip()[:1].lower() <= "z"
        self.score += 5 if won else 1
        return f"Score: {self.score}", 5.0 if won else -0.1, won, {}


def store(folder: Path) -> ConfigStore:
    config = ConfigStore()
    config.model.model_name = "builtin:tiny-llama"
    config.model.device = "cpu"
    config.inference.max_tokens = 4
    config.inference.max_turns = 2
    config.inference.max_prompt_tokens = 64
    config.training.adv_estimator = "grpo"
    config.training.batch_size = 4
    config.training.learning_rate = 2e-2
    config.checkpoint.output_dir = str(folder)
    return config


def written(folder: Path, made: RayPPOTrainer) -> Any:
    return check(made.write(3, 2), sets=made._sets())


@pytest.mark.parametrize("estimator", ["gae", "grpo", "reinforce_plus_plus", "rloo"])
def test_settings_reach_verl(tmp_path: Path, estimator: str) -> None:
    config = store(tmp_path)
    config.training.adv_estimator = estimator
    config.training.clip_ratio = 0.3
    config.training.use_kl_in_reward = estimator == "gae"
    config.checkpoint.save_interval = 2
    state = written(tmp_path, RayPPOTrainer(config, Letters(), reward_fn=lambda t: sum(t.rewards)))
    assert state.report.ok, list(state.report)
    keys = state.lowered.settings
    assert keys["algorithm.adv_estimator"] == estimator
    assert keys["actor_rollout_ref.actor.clip_ratio_high"] == 0.3
    assert keys["trainer.save_freq"] == 4, "two epochs of two steps"
    assert keys["trainer.total_epochs"] == 3
    assert keys["data.train_batch_size"] == 4
    assert keys.get("algorithm.use_kl_in_reward", False) is (estimator == "gae")


def load(path: Path) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return names


def test_each_sample_plays_a_copy_and_the_reward_sees_the_episode(tmp_path: Path) -> None:
    bonus = 10.0

    def reward(trajectory: Trajectory, environment: Letters) -> float:
        assert isinstance(environment, BaseEnvironment)
        return sum(trajectory.rewards) + bonus * len(trajectory)

    RayPPOTrainer(store(tmp_path), Letters(), reward).write(1, 1)
    environment = load(tmp_path / "environment.py")["Environment"]
    first, second = environment(), environment()
    assert (first.reset(), second.reset(), first.get_prompt_prefix()) == ("take or use?", "take or use?", "")
    assert first.step("zoo") == ("Score: 5", 5.0, True, {})
    assert second.step("a") == ("Score: 1", -0.1, False, {})
    score = load(tmp_path / "rewards.py")["trajectory_reward"]
    played = {"states": ["a", "b"], "actions": ["x", "y"], "rewards": [1.0, 5.0], "dones": [False, True]}
    assert score("", "", {"trajectory": played}) == 26.0
    assert score("p", "answer", {}) == 10.0


def test_a_dataset_without_an_environment(tmp_path: Path) -> None:
    rows = [{"input": f"say {number}"} for number in range(8)]
    made = create_trainer(store(tmp_path), reward_fn=lambda t: float(len(t.actions[0])), dataset=rows)
    assert written(tmp_path, made).report.ok
    assert made._steps(None) == 2
    assert len((tmp_path / "train.jsonl").read_text(encoding="utf-8").splitlines()) == 8
    assert "environment" not in json.loads(made.project.spec.read_text(encoding="utf-8"))["agent"]


def test_what_cannot_be_trained_is_said(tmp_path: Path) -> None:
    config = store(tmp_path)
    with pytest.raises(TrainerError, match="an environment, or a reward_fn"):
        RayPPOTrainer(config)
    with pytest.raises(TrainerError, match="no input"):
        RayPPOTrainer(config, reward_fn=len, dataset=[{"question": "?"}])
    with pytest.raises(TrainerError, match="asks for 3 arguments"):
        RayPPOTrainer(config, Letters(), lambda a, b, c: 0.0).write(1, 1)
    with pytest.raises(TrainerError, match=r"no setting training\.batch"):
        RayPPOTrainer({"training": {"batch": 3}}, Letters())
    with pytest.raises(TrainerError, match="no checkpoint"):
        RayPPOTrainer(config, Letters()).save_checkpoint(tmp_path / "x")
    with pytest.raises(TrainerError, match="no checkpoint"):
        RayPPOTrainer(config, Letters()).load_checkpoint(tmp_path)
    config.training.adv_estimator = "gea"
    with pytest.raises(TrainerError, match="adv_estimator"):
        RayPPOTrainer(config, Letters()).write(1, 1)
    with pytest.raises(TrainerError, match="model_name"):
        RayPPOTrainer(ConfigStore(), Letters()).write(1, 1)


def test_one_entry_for_each_epoch() -> None:
    records = [
        {"step": 0, "val-core/a/reward/mean@1": 1.0},
        *({"step": step, "actor/pg_loss": float(step), "critic/score/mean": 2.0} for step in (1, 2, 3)),
    ]
    history = by_epoch(records, 2)
    assert [(entry["epoch"], entry["policy_loss"], entry["step"]) for entry in history] == [(1, 1.5, 2), (2, 3.0, 3)]
    assert history[0]["reward"] == 2.0


def test_a_mapping_of_settings() -> None:
    config = ConfigStore.of({"training": {"batch_size": 3}, "environment": {"items": 2}, "extra": {"seed": 1}})
    assert (config.training.batch_size, config.environment["items"], config.extra) == (3, 2, {"seed": 1})
    assert SimpleGameEnvironment(config.environment).config["items"] == 2


@pytest.mark.training
@pytest.mark.timeout(400)
def test_a_game_is_trained_saved_and_gone_on_with(tmp_path: Path) -> None:
    made = create_trainer(store(tmp_path / "own"), Letters(), reward_fn=lambda t: sum(t.rewards))
    history = made.fit(num_epochs=1, num_iters_per_epoch=2)
    assert [entry["epoch"] for entry in history] == [1]
    assert history[0]["policy_loss"] is not None and history[0]["step"] == 2
    saved = made.save_checkpoint(tmp_path / "saved")
    assert saved == tmp_path / "saved" / "global_step_2"
    again = create_trainer(store(tmp_path / "own"), Letters(), reward_fn=lambda t: sum(t.rewards))
    again.load_checkpoint(tmp_path / "saved")
    assert [entry["epoch"] for entry in again.fit(num_epochs=1, num_iters_per_epoch=2)] == [2]
    again.cleanup()
