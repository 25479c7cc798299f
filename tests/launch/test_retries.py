"""Runs that go on by themselves, configurations that changed in between, and keys that stay out of the log."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path

import pytest

from orbiter_spec.launch.metrics import read_records
from orbiter_spec.launch.resume_check import Verdict, changes_since, compare, remember, starting_point
from orbiter_spec.launch.run_folder import RunFolder, create_run_folder
from orbiter_spec.launch.status import State
from orbiter_spec.launch.verl_config import VerlConfig, read_verl_config
from tests.launch.conftest import Notes, launch


def settings(folder: RunFolder, **values: object) -> None:
    (folder.compiled / "launch.json").write_text(json.dumps(values), encoding="utf-8")


def test_a_failed_run_goes_on_from_its_last_whole_checkpoint(run_folder: RunFolder, notes: Notes, capsys) -> None:
    settings(run_folder, retries=2)
    outcome = launch(run_folder.path, "die_once")
    assert (outcome.state, outcome.last_step) == (State.FINISHED, 4), outcome.reason
    records = read_records(run_folder.metrics)
    assert [(record["step"], record["attempt"]) for record in records] == [(0, 1), (1, 1), (2, 2), (3, 2), (4, 2)]
    shown = capsys.readouterr().out
    assert "attempt 1 failed: verl was killed by SIGKILL" in shown
    assert "going on from step 2" in shown
    assert run_folder.read_status().attempt == 2
    notes.assert_nothing_left()


def test_retries_are_counted_and_the_last_reason_stays(run_folder: RunFolder, notes: Notes) -> None:
    settings(run_folder, retries=1)
    outcome = launch(run_folder.path, "raise")
    assert outcome.state is State.FAILED
    assert run_folder.read_status().attempt == 2
    assert "the learning rate is too high for this model" in run_folder.read_status().reason
    assert run_folder.log.read_text().count("# attempt") == 2


def test_a_wall_is_not_run_into_again(run_folder: RunFolder, notes: Notes) -> None:
    settings(run_folder, retries=3)
    outcome = launch(run_folder.path, "pending", pending_seconds=0.5)
    assert "Ray could not place" in outcome.reason
    assert run_folder.read_status().attempt == 1


def test_a_key_that_is_printed_never_reaches_the_log(run_folder: RunFolder, notes: Notes, monkeypatch) -> None:
    monkeypatch.setenv("SOMEWHERE", "sk-planted-0001")
    settings(run_folder, secrets={"TEST_KEY": {"environment": "SOMEWHERE"}})
    assert launch(run_folder.path, "tell").state is State.FINISHED
    text = run_folder.log.read_text()
    assert "the key is ***TEST_KEY***" in text
    assert "sk-planted-0001" not in text


def test_a_missing_key_is_said_before_anything_starts(run_folder: RunFolder, tmp_path: Path) -> None:
    settings(run_folder, secrets={"TEST_KEY": {"file": str(tmp_path / "nowhere")}})
    outcome = launch(run_folder.path, "tell")
    assert outcome.state is State.FAILED
    assert "the secret TEST_KEY is read from" in outcome.reason
    assert not run_folder.log.exists()


def config(**values: object) -> VerlConfig:
    return VerlConfig({"trainer": {"nnodes": 1, "n_gpus_per_node": 2}, **values})


CPUS = {"ray_kwargs": {"ray_init": {"num_cpus": 4}}}, {"ray_kwargs": {"ray_init": {"num_cpus": 8}}}
RATE = {"algorithm": {"gamma": 1.0}}, {"algorithm": {"gamma": 0.9}}
MODEL = {"actor_rollout_ref": {"model": {"path": "a"}}}, {"actor_rollout_ref": {"model": {"path": "b"}}}


@pytest.mark.parametrize(("pair", "verdict"), [(CPUS, Verdict.SAFE), (RATE, Verdict.RISKY), (MODEL, Verdict.REFUSED)])
def test_a_change_is_safe_risky_or_refused(pair, verdict) -> None:
    [change] = compare(config(**pair[0]), config(**pair[1]))
    assert change.verdict is verdict


def test_shards_of_other_workers_are_refused_and_the_same_number_is_not() -> None:
    other = VerlConfig({"trainer": {"nnodes": 2, "n_gpus_per_node": 2}})
    same = VerlConfig({"trainer": {"nnodes": 2, "n_gpus_per_node": 1}})
    assert compare(config(), other)[0].verdict is Verdict.REFUSED
    assert {change.verdict for change in compare(config(), same)} == {Verdict.SAFE}


def test_a_resumed_run_says_what_changed_or_refuses(run_folder: RunFolder, notes: Notes, capsys) -> None:
    assert launch(run_folder.path, "die_after_3").state is State.FAILED
    shutil.copy(run_folder.compiled / "verl.yaml", run_folder.compiled / "kept.yaml")
    text = (run_folder.compiled / "verl.yaml").read_text()
    (run_folder.compiled / "verl.yaml").write_text(text.replace("n_gpus_per_node: 1", "n_gpus_per_node: 3"))
    refused = launch(run_folder.path, "go", resume=True)
    assert refused.state is State.FAILED
    assert "the checkpoint does not fit the configuration: trainer (workers) was 1 and is 3" in refused.reason
    (run_folder.compiled / "verl.yaml").write_text(text.replace("num_cpus: 5", "num_cpus: 6"))
    assert launch(run_folder.path, "go", resume=True).state is State.FINISHED
    assert "safe: ray_kwargs.ray_init.num_cpus was 5, is 6" in capsys.readouterr().out
    remember(run_folder.path, run_folder.compiled)
    assert changes_since(run_folder.path, run_folder.compiled) == []


@pytest.fixture
def from_another(run_folder: RunFolder, notes: Notes) -> RunFolder:
    """A new run that begins from the second step of a run that has ended."""
    assert launch(run_folder.path, "go").state is State.FINISHED
    new = create_run_folder(run_folder.path.parent, "new", datetime(2026, 1, 2, 3, 4, 6))
    shutil.copytree(run_folder.compiled, new.compiled)
    begin_from(new, run_folder.checkpoints / "global_step_2")
    return new


def begin_from(run: RunFolder, path: Path) -> None:
    """Let the compiled configuration of `run` begin from `path`."""
    config = {"resume_mode": "resume_path", "resume_from_path": str(path)}
    lines = [f"  {key}: {json.dumps(value)}\n" for key, value in config.items()]
    file = run.compiled / "verl.yaml"
    file.write_text(file.read_text().replace("trainer:\n", "trainer:\n" + "".join(lines), 1))


def test_a_run_that_begins_from_another_is_compared_with_it(run_folder, from_another: RunFolder, capsys) -> None:
    text = (from_another.compiled / "verl.yaml").read_text()
    (from_another.compiled / "verl.yaml").write_text(text.replace("num_cpus: 5", "num_cpus: 6"))
    outcome = launch(from_another.path, "go")
    assert (outcome.state, outcome.last_step) == (State.FINISHED, 4), outcome.reason
    assert [record["step"] for record in read_records(from_another.metrics)] == [2, 3, 4]
    shown = capsys.readouterr().out
    assert f"since {run_folder.path}:\n  safe: ray_kwargs.ray_init.num_cpus was 5, is 6" in shown
    assert "going on from step 2" in shown


def test_a_checkpoint_of_another_model_is_refused(run_folder: RunFolder, from_another: RunFolder) -> None:
    text = (from_another.compiled / "verl.yaml").read_text()
    (from_another.compiled / "verl.yaml").write_text(text + "actor_rollout_ref: {model: {path: b}}\n")
    outcome = launch(from_another.path, "go")
    assert outcome.state is State.FAILED
    assert "actor_rollout_ref.model.path was '(absent)' and is 'b'" in outcome.reason
    assert not from_another.log.exists()


def test_a_failure_before_the_first_save_begins_from_the_other_run_again(from_another: RunFolder, capsys) -> None:
    settings(from_another, retries=1)
    assert launch(from_another.path, "raise").state is State.FAILED
    commands = [line for line in from_another.log.read_text().splitlines() if line.startswith("# attempt")]
    assert len(commands) == 2
    assert all("global_step_2" in line for line in commands)
    assert "going on from step 2" in capsys.readouterr().out


def test_a_checkpoint_outside_of_runs_is_known_by_its_shards(from_another: RunFolder, tmp_path: Path) -> None:
    old = starting_point(from_another, read_verl_config(from_another.compiled), resume=False).checkpoint
    alone = tmp_path / "elsewhere" / "global_step_2"
    shutil.copytree(old.path, alone)
    other = VerlConfig({"trainer": {"resume_mode": "resume_path", "resume_from_path": str(alone), "nnodes": 2}})
    [change] = starting_point(from_another, other, resume=False).changes
    assert (change.before, change.now, change.verdict) == (1, 2, Verdict.REFUSED)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("global_step_9", "is not there"), ("model", "is no checkpoint"), ("global_step_3", "is not whole")],
)
def test_a_checkpoint_that_cannot_be_loaded_is_refused(
    run_folder: RunFolder, from_another: RunFolder, name: str, reason: str
) -> None:
    shutil.copytree(run_folder.checkpoints / "global_step_2", run_folder.checkpoints / "global_step_3")
    (run_folder.checkpoints / "global_step_3" / "data.pt").unlink()
    file = from_another.compiled / "verl.yaml"
    file.write_text(file.read_text().replace("global_step_2", name))
    outcome = launch(from_another.path, "go")
    assert outcome.state is State.FAILED
    assert reason in outcome.reason
