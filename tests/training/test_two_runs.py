"""Two runs at once on one machine, each with its own reward and loggers: neither finds anything of the other."""

from __future__ import annotations

import importlib.util
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.launch.metrics import read_records
from orbiter_spec.launch.processes import descendants
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.status import State
from tests.conftest import ROOT

pytest.importorskip("verl")
pytestmark = [pytest.mark.training, pytest.mark.timeout(900)]
REWARDS = {"left": 0.25, "right": 0.75}
MLFLOW = "mlflow" if importlib.util.find_spec("mlflow") and importlib.util.find_spec("sqlalchemy") else None
WANDB = "wandb" if importlib.util.find_spec("wandb") else None
LOGGERS = {"left": ["tensorboard", MLFLOW], "right": ["tensorboard", WANDB]}
METRICS = ("reward/constant/mean", "critic/score/mean")


def spec_of(name: str, folder: Path) -> Path:
    (folder / f"{name}.py").write_text(f"def constant(response):\n    return {REWARDS[name]}\n", encoding="utf-8")
    document: dict[str, Any] = {
        "version": 1,
        "extends": str(ROOT / "specs" / "quickstart.yaml"),
        "name": name,
        "rewards": [{"name": "constant", "function": f"{name}.py:constant"}],
        "algorithm": {"steps": 2, "batch": {"prompts": 4, "samples_per_prompt": 2}},
        "run": {
            "output": str(folder / "runs"),
            "log": ["console", *(logger for logger in LOGGERS[name] if logger)],
            "evaluate": {"every": "never", "before_training": False},
            "save_rollouts": True,
            "env": ["WANDB_MODE=offline"],
        },
    }
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFolder]:
    """Both runs, started in the same moment and waited for."""
    folder = tmp_path_factory.mktemp("both")
    before = descendants(os.getpid())
    started = {
        name: subprocess.Popen(
            [sys.executable, "-m", "orbiter_spec", "run", str(spec_of(name, folder))],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
        )
        for name in REWARDS
    }
    try:
        shown = {name: process.communicate(timeout=800)[0] for name, process in started.items()}
    finally:
        for process in started.values():
            process.kill()
            process.wait()
    assert {name: process.returncode for name, process in started.items()} == dict.fromkeys(REWARDS, 0), shown
    assert descendants(os.getpid()) <= before
    return {name: RunFolder.at(path) for name in REWARDS for path in (folder / "runs").glob(f"{name}-*")}


def test_both_finish_with_their_own_rewards(runs: dict[str, RunFolder]) -> None:
    assert set(runs) == set(REWARDS)
    for name, reward in REWARDS.items():
        assert runs[name].read_status().state is State.FINISHED
        records = read_records(runs[name].metrics)
        assert [record["step"] for record in records] == [1, 2]
        for record in records:
            scores = [record[f"critic/score/{which}"] for which in ("min", "mean", "max")]
            assert scores == pytest.approx([reward] * 3), "a queue that both share would mix them"


def test_both_ran_at_the_same_time_in_folders_of_their_own(runs: dict[str, RunFolder]) -> None:
    spans = [(status.started_at, status.updated_at) for status in (run.read_status() for run in runs.values())]
    assert max(start for start, _ in spans) < min(end for _, end in spans)
    for name, run in runs.items():
        answers = [json.loads(line) for path in (run.path / "rollouts").glob("*.jsonl") for line in path.open()]
        assert len(answers) == 2 * 4 * 2
        assert {answer["score"] for answer in answers} == {REWARDS[name]}


@pytest.mark.parametrize("name", REWARDS)
def test_tensorboard_has_our_metrics(runs: dict[str, RunFolder], name: str) -> None:
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = reader.EventAccumulator(str(runs[name].logs / "tensorboard"))
    events.Reload()
    for metric in METRICS:
        assert [point.value for point in events.Scalars(metric)] == pytest.approx([REWARDS[name]] * 2)


@pytest.mark.skipif(WANDB is None, reason="wandb is not installed")
def test_wandb_offline_has_our_metrics(runs: dict[str, RunFolder]) -> None:
    [path] = (runs["right"].logs / "wandb").glob("offline-run-*/run-*.wandb")
    content = path.read_bytes()
    for metric in METRICS:
        assert metric.encode() in content


@pytest.mark.skipif(MLFLOW is None, reason="mlflow with its database is not installed")
def test_mlflow_has_our_metrics(runs: dict[str, RunFolder]) -> None:
    with sqlite3.connect(runs["left"].logs / "mlflow.db") as database:
        rows = database.execute("select step, value from metrics where key = ? order by step", [METRICS[0]]).fetchall()
    assert rows == [(1, REWARDS["left"]), (2, REWARDS["left"])]
