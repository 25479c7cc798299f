"""Rewards inside real verl: parts in the metrics and records of training and validation, and failures that stop it.

The compiled folder's own files are used (reward.py, reward_library, reward_metrics.py), by relative path.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

import orbiter_spec.runtime.reward_metrics as metrics
from tests.runtime.conftest import Training, copy_reward_path, workers
from tests.runtime.test_sampler import CASES, build

RUNTIME = Path(metrics.__file__).parent
SAMPLER = "trainer.v1.sampler.custom_sampler"
GRPO = {
    "algorithm.adv_estimator": "grpo",
    f"{SAMPLER}.path": "reward_metrics.py",
    f"{SAMPLER}.name": "RewardReplayBuffer",
    "trainer.rollout_data_dir": "rollouts",
    "trainer.validation_data_dir": "validation",
}
CODE = """
from digits_of import share

def digits(response, row):
    return share(response)

async def failing(response, extra_info):
    if extra_info["index"] % 2:
        raise ValueError("odd rows fail")
    return 1.0
"""
NEIGHBOUR = """
def share(text):
    return sum(character.isdigit() for character in text) / max(len(text), 1)
"""


def compile_rewards(folder: Path, *parts: dict[str, Any]) -> None:
    (folder / "code").mkdir()
    (folder / "code" / "rewards.py").write_text(CODE)
    (folder / "code" / "digits_of.py").write_text(NEIGHBOUR)
    copy_reward_path(folder)
    (folder / "rewards.json").write_text(json.dumps({"version": 1, "rewards": parts}))


def function(name: str, /, **changes: Any) -> dict[str, Any]:
    item = {"name": name, "weight": 1.0, "kind": "function", "path": "code/rewards.py", "module": None}
    return {**item, "function": name, "args": {}, "on_error": "stop", **changes}


def builtin(name: str, /, **changes: Any) -> dict[str, Any]:
    return function(name, kind="builtin", path=None, **changes)


def records(path: Path) -> dict[str, dict[str, Any]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["uid"]: line for line in lines}


@pytest.mark.training
@pytest.mark.timeout(330)
def test_parts_are_in_the_metrics_and_records_of_training_and_validation(training: Training) -> None:
    compile_rewards(
        training.folder,
        function("digits", weight=0.5),
        builtin("length_penalty", weight=0.25, args={"target": 2}, name="brevity"),
        function("failing", weight=0.1, on_error=-1.0),
    )
    trained = training.run(GRPO, workers(1), {"trainer.total_training_steps": 2}, timeout=300)
    assert trained.returncode == 0, trained.log[-3000:]
    parts = {name: trained.series(f"reward/{name}/mean") for name in ("digits", "brevity", "failing", "failing/errors")}
    assert [len(series) for series in parts.values()] == [2, 2, 2, 2]
    for step, total in enumerate(trained.series("critic/score/mean")):
        weighted = 0.5 * parts["digits"][step] + 0.25 * parts["brevity"][step] + 0.1 * parts["failing"][step]
        assert weighted == pytest.approx(total, abs=1e-5)
        assert parts["failing"][step] == pytest.approx(1 - 2 * parts["failing/errors"][step])
    assert 0 < max(parts["failing/errors"]) < 1
    for name in ("digits", "brevity", "failing", "failing/errors"):
        assert trained.series(f"val-aux/digits/{name}/mean@1")
    ours = records(training.folder / "rollouts" / "rewards" / "1.jsonl")
    theirs = records(training.folder / "rollouts" / "1.jsonl")
    assert set(ours) == set(theirs)
    assert all(ours[uid]["score"] == pytest.approx(theirs[uid]["score"], abs=1e-6) for uid in theirs)
    for shown in records(training.folder / "validation" / "2.jsonl").values():
        assert {"digits", "brevity", "failing", "failing/errors"} <= set(shown)
    assert "odd rows fail" in trained.log


@pytest.mark.training
@pytest.mark.timeout(330)
def test_a_part_that_cannot_be_loaded_stops_the_run_before_the_first_prompt(training: Training) -> None:
    compile_rewards(training.folder, function("no_such_function"))
    trained = training.run(GRPO, workers(1), timeout=300)
    assert trained.returncode != 0
    assert "cannot be loaded: there is no function 'no_such_function'" in trained.log
    assert trained.metrics == []
    assert trained.processes == []


@pytest.mark.parametrize("case", sorted(CASES))
@pytest.mark.parametrize(
    ("mode", "name"), [("sync", "RewardReplayBuffer"), ("colocate_async", "RewardReplayBufferAsync")]
)
def test_the_buffer_is_built_as_verls_own(mode: str, name: str, case: str) -> None:
    ours = build(mode, [*CASES[case], f"{SAMPLER}.path={RUNTIME / 'reward_metrics.py'}", f"{SAMPLER}.name={name}"])
    own = build(mode, CASES[case])
    assert type(ours).__name__ == name
    assert isinstance(ours, ReplayBuffer)
    for attribute in set(inspect.signature(ReplayBuffer).parameters) - {"refill_fn"}:
        assert getattr(ours, attribute) == getattr(own, attribute), attribute


def test_means_are_taken_over_the_responses_that_have_a_number() -> None:
    infos = [{"score": 1.0, "a": 1.0, "kind": "text"}, {"score": 0.0, "a": 0.0, "b": None}, {"a": 0.5, "b": 2}, {}]
    assert metrics.part_metrics(infos) == {
        "reward/a/mean": 0.5,
        "reward/a/max": 1.0,
        "reward/a/min": 0.0,
        "reward/b/mean": 2.0,
        "reward/b/max": 2.0,
        "reward/b/min": 2.0,
    }
