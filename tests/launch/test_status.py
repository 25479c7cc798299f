"""Status and run folders: atomic, true, listed."""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import pytest

from orbiter_spec.launch.processes import start_time
from orbiter_spec.launch.run_folder import create_run_folder, list_runs
from orbiter_spec.launch.status import PROCESS_DIED, State, changed, new_status, read_status, write_status

NOW = datetime(2026, 1, 2, 3, 4, 5)


def test_a_status_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    status = new_status(total_steps=10)
    write_status(path, status)
    assert read_status(path) == status
    assert [entry.name for entry in tmp_path.iterdir()] == ["status.json"]


@pytest.mark.parametrize("state", [State.PREPARING, State.RUNNING])
def test_an_active_status_of_a_dead_process_is_a_failure(tmp_path: Path, state: State) -> None:
    process = subprocess.Popen(["sleep", "60"])
    path = tmp_path / "status.json"
    write_status(path, new_status(state=state, pid=process.pid, pid_started=start_time(process.pid)))
    assert read_status(path).state is state
    process.kill()
    process.wait()
    assert (read_status(path).state, read_status(path).reason) == (State.FAILED, PROCESS_DIED)


def test_a_process_with_a_used_id_is_another_one(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    write_status(path, new_status(state=State.RUNNING, pid_started=1))
    assert read_status(path).state is State.FAILED


def test_a_zombie_is_dead(tmp_path: Path) -> None:
    process = subprocess.Popen(["true"])
    path = tmp_path / "status.json"
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    write_status(path, new_status(state=State.RUNNING, pid=process.pid, pid_started=None))
    assert read_status(path).state is State.FAILED
    process.wait()


def test_another_machine_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    write_status(path, new_status(state=State.RUNNING, pid=1 << 30, host="elsewhere"))
    assert read_status(path).state is State.RUNNING


def test_an_end_is_dated_once(tmp_path: Path) -> None:
    done = changed(new_status(), state=State.FINISHED)
    assert done.finished_at is not None
    assert changed(done, step=3).finished_at == done.finished_at


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"state": "dancing"}', '{"state": "running"}', "\x00" * 9])
def test_what_is_no_status_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "status.json").write_text(text)
    assert read_status(tmp_path / "status.json") is None


def test_a_status_with_unknown_fields_is_read(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    write_status(path, new_status())
    path.write_text(json.dumps({**json.loads(path.read_text()), "mood": "good"}))
    assert read_status(path).state is State.PREPARING


def test_a_failed_write_leaves_the_old_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "status.json"
    write_status(path, new_status(step=1))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_status(path, new_status(step=2))
    assert read_status(path).step == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["status.json"]


def test_folders_made_in_one_second_are_different(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: create_run_folder(tmp_path / "runs", "a b/c", NOW).path, range(16)))
    assert len(set(made)) == 16
    assert tmp_path / "runs" / "a-b-c-20260102-030405" in made
    assert all(path.parent == tmp_path / "runs" for path in made)


def test_runs_are_listed_newest_first(tmp_path: Path) -> None:
    for day, state in ((1, State.FINISHED), (3, State.FAILED), (2, State.RUNNING)):
        folder = create_run_folder(tmp_path, "run", datetime(2026, 1, day))
        folder.write_status(new_status(state=state, started_at=f"2026-01-0{day}T00:00:00+00:00"))
    create_run_folder(tmp_path, "never-started", NOW)
    (tmp_path / "a file").touch()
    assert [run.state for run in list_runs(tmp_path)] == [State.FAILED, State.RUNNING, State.FINISHED]
    assert list_runs(tmp_path / "nowhere") == []
