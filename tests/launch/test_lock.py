"""A run folder says what it depended on, and is run again from its own files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from orbiter_spec.launch import lock
from orbiter_spec.launch.lock import drift, write_lock
from orbiter_spec.runner import prepare_run, repeat_run

SPECS = Path(__file__).resolve().parents[2] / "specs"


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    (tmp_path / "rows.jsonl").write_text('{"question": "say 5", "answer": "5"}\n' * 20, encoding="utf-8")
    document = {
        "version": 1,
        "name": "again",
        "agent": {"model": "builtin:tiny-llama", "prompt": "{{ question }}"},
        "dataset": {"train": "rows.jsonl"},
        "rewards": [{"builtin": "exact_match"}],
        "algorithm": "grpo",
        "hardware": "cpu",
    }
    (tmp_path / "spec.yaml").write_text(json.dumps(document), encoding="utf-8")
    return tmp_path / "spec.yaml"


def test_the_same_files_drift_nowhere_and_a_changed_one_is_named(experiment: Path, monkeypatch) -> None:
    prepared = prepare_run(experiment, look=False)
    assert prepared.folder is not None, prepared.report
    assert drift(prepared.folder.path) == []
    (experiment.parent / "rows.jsonl").write_text('{"question": "other", "answer": "1"}\n' * 20, encoding="utf-8")
    monkeypatch.setattr(lock, "versions", lambda: {"verl": "0.0.1"})
    again, drifted = repeat_run(prepared.folder.path)
    assert "rows.jsonl has changed; the run uses its compiled copy" in drifted
    assert any(line.startswith("verl was ") and line.endswith("is 0.0.1") for line in drifted)
    assert again.path.parent == prepared.folder.path.parent
    assert again.name.startswith("again-") and again.name != prepared.folder.name
    for name in ("verl.yaml", "data/train.parquet", "manifest.json"):
        assert (again.compiled / name).read_bytes() == (prepared.folder.compiled / name).read_bytes()


def test_commit_and_changes_are_kept_and_values_of_variables_are_not(tmp_path: Path, monkeypatch) -> None:
    home, run = tmp_path / "home", tmp_path / "run"
    home.mkdir(), run.mkdir()
    monkeypatch.setenv("RAY_AUTH_TOKEN", "token-planted-1234")
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", str(home)], check=True)
    (home / "reward.py").write_text("one = 1\n", encoding="utf-8")
    subprocess.run(["git", "-C", str(home), "add", "."], check=True)
    subprocess.run(["git", "-C", str(home), *identity, "commit", "-qm", "first"], check=True)
    (home / "reward.py").write_text("one = 2\n", encoding="utf-8")
    write_lock(run, home)
    content = json.loads((run / "lock.json").read_text(encoding="utf-8"))
    assert len(content["commit"]) == 40
    assert "+one = 2" in (run / "code.diff").read_text(encoding="utf-8")
    assert "RAY_AUTH_TOKEN" in content["environment"]
    assert "token-planted-1234" not in (run / "lock.json").read_text(encoding="utf-8")
