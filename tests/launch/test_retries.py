"""Runs that go on by themselves, configurations that changed in between, and keys that stay out of the log."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from orbiter_spec.launch.metrics import read_records
from orbiter_spec.launch.resume_check import Verdict, changes_since, compare, remember
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.status import State
from orbiter_spec.launch.verl_config import VerlConfig
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
