"""A trainer in Python is an experiment: what it writes says the same, checks as a spec does, and trains."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.compiler import check, compile_spec
from orbiter_spec.train import (
    RewardSpec,
    TrainConfig,
    TrainerError,
    TrainerState,
    TrajectoryDataset,
    TrajectoryItem,
    VeRLAlgorithm,
    VeRLConfig,
    VeRLTrainer,
)
from orbiter_spec.train.reward_spec import rewards_file

ROWS = [{"input": f"say {i % 10}", "expected": str(i % 10)} for i in range(32)]
TINY: dict[str, Any] = {
    "batch_size": 8,
    "model_name": "builtin:tiny-llama",
    "max_prompt_length": 96,
    "max_response_length": 8,
    "extra": {"hardware": "cpu"},
}


def digits(output: str) -> float:
    return sum(character.isdigit() for character in output) / max(1, len(output))


class Agent:
    instructions = "Answer in digits, not in {{ braces }}."


def trainer(folder: Path, **config: Any) -> VeRLTrainer:
    made = VeRLTrainer(VeRLConfig(**{**TINY, "output_dir": str(folder), **config}))
    made.check_agent(Agent())
    made.check_dataset(ROWS, ROWS[:8])
    made.check_reward(RewardSpec(fn=digits, name="digits"))
    made.check_config()
    made.mark_validated()
    return made


@pytest.mark.parametrize("algorithm", VeRLAlgorithm)
def test_settings_reach_verl(algorithm: VeRLAlgorithm, tmp_path: Path) -> None:
    made = trainer(
        tmp_path, algorithm=algorithm, epochs=3, learning_rate=2e-5, kl_coef=0.3, clip_range=0.1, gamma=0.9, lam=0.8,
        ppo_epochs=2, rollout_batch_size=5, warmup_steps=7, eval_every=4,
    )  # fmt: skip
    state = check(made.write(), sets=made._sets())
    assert state.report.ok, list(state.report)
    assert state.lowered is not None
    keys = state.lowered.settings
    grpo = algorithm is VeRLAlgorithm.GRPO
    assert keys["algorithm.adv_estimator"] == ("grpo" if grpo else "gae")
    assert keys["trainer.total_epochs"] == 3
    assert keys["data.train_batch_size"] == 8
    assert keys["actor_rollout_ref.actor.optim.lr"] == 2e-5
    assert keys["actor_rollout_ref.actor.optim.lr_warmup_steps"] == 7
    assert keys["actor_rollout_ref.actor.ppo_epochs"] == 2
    assert keys["actor_rollout_ref.actor.clip_ratio_low"] == keys["actor_rollout_ref.actor.clip_ratio_high"] == 0.1
    assert keys["trainer.test_freq"] == 4
    assert (keys["data.max_prompt_length"], keys["data.max_response_length"]) == (96, 8)
    if grpo:
        assert keys["actor_rollout_ref.rollout.n"] == 5
        assert keys["actor_rollout_ref.actor.kl_loss_coef"] == 0.3
    else:
        assert keys["algorithm.kl_ctrl.kl_coef"] == 0.3
        assert (keys["algorithm.gamma"], keys["algorithm.lam"]) == (0.9, 0.8)


def test_what_is_written_compiles_with_the_agents_words_as_they_are(tmp_path: Path) -> None:
    from pyarrow import parquet

    made = trainer(tmp_path / "project")
    compiled = compile_spec(made.write(), tmp_path / "out", sets=made._sets())
    assert compiled.folder is not None, list(compiled.report)
    row = parquet.read_table(compiled.folder / "data/train.parquet").to_pylist()[3]
    assert row["prompt"] == [
        {"role": "system", "content": Agent.instructions},
        {"role": "user", "content": "say 3"},
    ]
    assert row["reward_model"]["ground_truth"] == "3"
    assert (compiled.folder / "data/validation.parquet").is_file()


def test_trajectories_are_data(tmp_path: Path) -> None:
    made = VeRLTrainer(VeRLConfig(**TINY, output_dir=str(tmp_path)))
    made.check_dataset(TrajectoryDataset([TrajectoryItem("s", "a", 0.5, {"step": 1})]))
    assert made.dataset == [{"input": "s", "expected": "a", "reward": 0.5, "step": 1}]


def scored(rewards: list[RewardSpec], folder: Path, **sample: Any) -> list[float]:
    """What the written functions give, called in another process."""
    (folder / "rewards.py").write_text(rewards_file(rewards), encoding="utf-8")
    code = (
        "import inspect, json, sys\nsys.path.insert(0, sys.argv[1])\nimport rewards\nsample = json.loads(sys.argv[2])\n"
        "found = [getattr(rewards, f'reward_{i}') for i in range(int(sys.argv[3]))]\n"
        "print([f(**{n: sample[n] for n in inspect.signature(f).parameters}) for f in found])"
    )
    args = [str(folder), json.dumps(sample), str(len(rewards))]
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_functions_of_every_kind_work_in_other_processes(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    goal = 4
    rewards = [
        RewardSpec(callable=digits),
        RewardSpec(callable=lambda output, expected: 1.0 if output == expected else 0.0),
        RewardSpec(callable=lambda text, truth: float(len(text) == goal and truth == "4")),
        RewardSpec(callable=lambda expected: float(expected)),
        RewardSpec(callable=lambda row, response: row["level"] * len(response)),
    ]
    sample = {"response": "1a2b", "output": "1a2b", "expected": "4", "row": {"level": 2}}
    assert scored(rewards, tmp_path, **sample) == [0.5, 0.0, 1.0, 4.0, 8.0]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: RewardSpec(), "neither"),
        (lambda: RewardSpec(module_path="json"), "neither"),
        (lambda: RewardSpec(module_path="no_such_module_x", func_name="f").resolve(), "cannot be imported"),
        (lambda: RewardSpec(module_path="json", func_name="no_such").resolve(), "cannot be imported"),
        (lambda: RewardSpec(module_path="math", func_name="pi").resolve(), "cannot be called"),
        (lambda: rewards_file([RewardSpec(fn=lambda a, b, c: 1.0)]), "asks for a, b, c"),
    ],
)
def test_a_reward_that_cannot_be_used_is_said(wrong: Any, said: str) -> None:
    with pytest.raises(TrainerError, match=said):
        wrong()


@pytest.mark.parametrize("data", [None, [], "text", [1], [{"question": "q"}], {"input": "q"}])
def test_data_of_another_shape_is_refused(data: Any) -> None:
    with pytest.raises(TrainerError, match="data"):
        VeRLTrainer().check_dataset(data)


def test_the_parts_are_checked() -> None:
    made = VeRLTrainer(VeRLConfig(model_name="m"))
    with pytest.raises(TrainerError, match="no agent"):
        made.check_agent(None)
    with pytest.raises(TrainerError, match="not a RewardSpec"):
        made.check_reward(3)
    with pytest.raises(TrainerError, match="same name"):
        made.check_reward([digits, digits])
    with pytest.raises(TrainerError, match="not a VeRLConfig"):
        made.check_config(TrainConfig())
    with pytest.raises(TrainerError, match="model_name"):
        VeRLTrainer().check_config()
    made.check_reward(None)
    assert made.rewards == []


def test_settings_may_be_replaced_or_added() -> None:
    made = VeRLTrainer(VeRLConfig(model_name="m"))
    made.check_config({"algorithm.batch.minibatch": 4})
    assert made.config.extra == {"algorithm.batch.minibatch": 4}
    made.check_config(VeRLConfig(model_name="n", epochs=9))
    assert made.verl_config.epochs == 9


def test_training_needs_the_checks_and_a_spec_without_errors(tmp_path: Path) -> None:
    with pytest.raises(TrainerError, match="created"):
        asyncio.run(VeRLTrainer(VeRLConfig(**TINY)).train())
    made = trainer(tmp_path, batch_size=64)
    with pytest.raises(TrainerError, match="ORB223"):
        asyncio.run(made.train())
    assert made.state is TrainerState.ERROR
    with pytest.raises(TrainerError, match="nothing has been trained"):
        asyncio.run(made.evaluate())


@pytest.mark.parametrize(
    "wrong",
    [{"rollout_batch_size": 0}, {"ppo_epochs": 0}, {"clip_range": 1.5}, {"kl_coef": -1.0}, {"algorithm": "dpo"}],
)
def test_settings_have_bounds(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must be|not a valid"):
        VeRLConfig(**wrong)


@pytest.mark.training
@pytest.mark.timeout(400)
def test_a_python_trainer_trains_and_evaluates(tmp_path: Path) -> None:
    config = VeRLConfig(**{**TINY, "output_dir": str(tmp_path)}, learning_rate=3e-2, kl_coeff=0, ppo_epochs=1)
    goal = 1.0
    made = VeRLTrainer(config, rewards=[RewardSpec(name="digits", fn=lambda text: goal * digits(text))])
    metrics = asyncio.run(made.train(ROWS * 2))
    assert made.state is TrainerState.TRAINED
    assert metrics.steps == 8 and metrics.loss is not None
    assert metrics.reward is not None and metrics.reward > 0.3, "an untrained model scores about 0.05"
    evaluated = asyncio.run(made.evaluate(ROWS[:8]))
    assert made.state is TrainerState.COMPLETE
    assert evaluated.accuracy is not None and evaluated.accuracy > 0.3
