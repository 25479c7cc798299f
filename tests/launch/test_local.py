"""Starting, watching and ending a real process tree."""

from __future__ import annotations

import json
import mmap
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orbiter_spec.launch.metrics import read_records
from orbiter_spec.launch.processes import is_alive
from orbiter_spec.launch.scratch import remove_stale_scratch
from orbiter_spec.launch.status import PROCESS_DIED, State
from orbiter_spec.launch.supervisor import ORPHANED
from tests.launch.conftest import VERL_YAML, launch, wait_for


def test_a_run_that_ends_well(run_folder, notes, capsys) -> None:
    outcome = launch(run_folder.path, "good")
    assert (outcome.state, outcome.reason, outcome.exit_code, outcome.last_step) == (State.FINISHED, None, 0, 4)
    status = run_folder.read_status()
    assert (status.state, status.step, status.total_steps, status.resumable_step) == (State.FINISHED, 4, 4, 4)
    assert status.exit_code == 0
    assert status.finished_at is not None
    assert [record["step"] for record in read_records(run_folder.metrics)] == [0, 1, 2, 3, 4]
    assert run_folder.report_image.read_bytes().startswith(b"\x89PNG")
    notes.assert_nothing_left()
    shown = capsys.readouterr().out
    assert "step 4/4  reward 1  entropy 1  s/step 0.1" in shown
    assert "validation after step 0  digits 0.1" in shown
    assert str(run_folder.path) in shown
    assert "\x1b" not in shown


def test_other_peoples_processes_and_memory_stay(run_folder, notes) -> None:
    other = subprocess.Popen(["sleep", "60"], start_new_session=True)
    shared = Path(f"/dev/shm/orbiter-test-other-{os.getpid()}")
    shared.write_bytes(b"\0" * 4096)
    try:
        with shared.open("r+b") as file, mmap.mmap(file.fileno(), 4096):
            assert launch(run_folder.path, "good").state is State.FINISHED
        assert other.poll() is None
        assert shared.exists()
    finally:
        other.kill()
        other.wait()
        shared.unlink()


def test_an_exception_is_the_reason_without_its_traceback(run_folder, notes, capsys) -> None:
    outcome = launch(run_folder.path, "raise")
    assert outcome.exit_code == 3
    assert outcome.reason == "ValueError: the learning rate is too high for this model"
    assert run_folder.read_status().reason == outcome.reason
    shown = capsys.readouterr().out
    assert "Traceback" not in shown
    assert str(run_folder.log) in shown
    assert "Traceback" in run_folder.log.read_text()
    assert (run_folder.logs / "ray" / "raylet.out").read_text() == "raylet says\n"
    notes.assert_nothing_left()


def test_silence_ends_the_run(run_folder, notes) -> None:
    outcome = launch(run_folder.path, "hang", silence_seconds=1.0)
    assert (outcome.state, outcome.reason) == (State.FAILED, "no output and no step for 1 s")
    notes.assert_nothing_left()


def test_a_request_that_ray_cannot_place_ends_the_run(run_folder, notes) -> None:
    outcome = launch(run_folder.path, "pending", pending_seconds=1.0)
    assert outcome.state is State.FAILED
    assert outcome.reason.startswith("Ray could not place what verl asked for within 1 s: (autoscaler")
    notes.assert_nothing_left()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_everything(run_folder, notes, start, number) -> None:
    launcher = start("hang")
    notes.wait()
    assert run_folder.read_status().state is State.RUNNING
    launcher.send_signal(number)
    assert launcher.wait(30) == 130
    status = run_folder.read_status()
    assert (status.state, status.reason) == (State.INTERRUPTED, f"stopped by {number.name}")
    notes.assert_nothing_left()


def test_a_second_signal_kills_what_does_not_listen(run_folder, notes, start) -> None:
    launcher = start("deaf", grace=300)
    notes.wait()
    launcher.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        launcher.wait(1.5)
    assert is_alive(notes.pid("driver"))
    launcher.send_signal(signal.SIGINT)
    assert launcher.wait(20) == 130
    assert run_folder.read_status().state is State.INTERRUPTED
    notes.assert_nothing_left()


def test_a_driver_that_does_not_listen_is_killed_after_its_grace(run_folder, notes, start) -> None:
    launcher = start("deaf", grace=1)
    notes.wait()
    launcher.send_signal(signal.SIGTERM)
    assert launcher.wait(20) == 130
    notes.assert_nothing_left()


def test_nothing_outlives_a_launcher_that_is_killed(run_folder, notes, start) -> None:
    launcher = start("hang")
    notes.wait()
    launcher.kill()
    launcher.wait()
    wait_for(lambda: run_folder.read_status().state is not State.RUNNING)
    status = run_folder.read_status()
    assert (status.state, status.reason) == (State.INTERRUPTED, ORPHANED)
    notes.assert_nothing_left()


def test_a_killed_supervisor_is_noticed_and_swept_after(run_folder, notes, start) -> None:
    launcher = start("hang")
    notes.wait()
    os.kill(run_folder.read_status().pid, signal.SIGKILL)
    assert launcher.wait(30) == 3
    assert "supervises" in run_folder.read_status().reason
    notes.assert_nothing_left()


def test_what_dead_processes_leave_is_told_and_removed_by_the_next_start(run_folder, notes, start) -> None:
    launcher = start("hang")
    notes.wait()
    supervisor = run_folder.read_status().pid
    os.kill(launcher.pid, signal.SIGSTOP)
    os.kill(supervisor, signal.SIGKILL)
    launcher.kill()
    launcher.wait()
    wait_for(lambda: not is_alive(notes.pid("driver")))
    assert json.loads(run_folder.status_file.read_text())["state"] == "running"
    status = run_folder.read_status()
    assert (status.state, status.reason) == (State.FAILED, PROCESS_DIED)
    assert is_alive(notes.pid("daemon"))
    remove_stale_scratch()
    notes.assert_nothing_left()


def test_resume_after_a_kill_loses_and_repeats_no_step(run_folder, notes, capsys) -> None:
    first = launch(run_folder.path, "die_after_3")
    assert (first.exit_code, first.last_step) == (3, 3)
    assert first.reason.startswith("verl was killed by SIGKILL")
    assert run_folder.read_status().resumable_step == 2
    for name in ("driver", "daemon"):
        (notes.folder / name).unlink()
    second = launch(run_folder.path, "good", resume=True)
    assert (second.exit_code, second.last_step) == (0, 4)
    records = read_records(run_folder.metrics)
    assert [record["step"] for record in records] == [0, 1, 2, 3, 4]
    assert [record["attempt"] for record in records] == [1, 1, 2, 2, 2]
    assert records[2]["critic/score/mean"] == 0.5
    assert records[2]["val-core/digits/reward/mean@1"] == 0.1
    assert "going on from step 2" in capsys.readouterr().out
    assert len(list(run_folder.logs.glob("metrics-*.jsonl"))) == 2
    status = run_folder.read_status()
    assert (status.state, status.attempt, status.reason) == (State.FINISHED, 2, None)


def test_a_finished_run_goes_on_when_there_are_more_steps(run_folder, notes) -> None:
    assert launch(run_folder.path, "good").last_step == 4
    again = launch(run_folder.path, "good", resume=True)
    assert (again.state, again.last_step) == (State.FINISHED, 4)
    assert len(list(run_folder.logs.glob("metrics-*.jsonl"))) == 1
    for name in ("driver", "daemon"):
        (notes.folder / name).unlink()
    more = launch(run_folder.path, "good", resume=True, overrides=["trainer.total_training_steps=6"])
    assert (more.state, more.last_step) == (State.FINISHED, 6)
    assert [record["step"] for record in read_records(run_folder.metrics)] == [0, 1, 2, 3, 4, 5, 6]
    assert "trainer.total_epochs=2" in run_folder.log.read_text()


def test_a_run_is_not_started_twice(run_folder, notes, start, capsys) -> None:
    launcher = start("hang")
    notes.wait()
    for resume in (False, True):
        outcome = launch(run_folder.path, "good", resume=resume)
        assert (outcome.exit_code, outcome.state) == (3, State.FAILED)
        assert "going on already" in outcome.reason
    assert run_folder.read_status().state is State.RUNNING
    launcher.send_signal(signal.SIGTERM)
    assert launcher.wait(20) == 130
    assert "holds a run" in launch(run_folder.path, "good").reason


def test_metrics_and_status_follow_the_run(run_folder, notes, start) -> None:
    launcher = start("slow")
    wait_for(lambda: (status := run_folder.read_status()) and status.step >= 2)
    assert run_folder.read_status().state is State.RUNNING
    assert [record["step"] for record in read_records(run_folder.metrics)][:3] == [0, 1, 2]
    assert launcher.wait(30) == 0


def test_a_reader_that_leaves_does_not_stop_training(run_folder, notes, start) -> None:
    launcher = start("slow")
    notes.wait()
    launcher.stdout.close()
    assert launcher.wait(30) == 0
    assert run_folder.read_status().step == 4


def test_a_machine_that_is_not_ready_is_said_before_anything_starts(run_folder, notes) -> None:
    (run_folder.compiled / "verl.yaml").write_text(VERL_YAML.replace("nnodes: 1", "nnodes: 3"), encoding="utf-8")
    outcome = launch(run_folder.path, "good")
    assert outcome.exit_code == 3
    assert [found.id for found in outcome.diagnostics] == ["ORB510"]
    assert "3 nodes" in run_folder.read_status().reason
    assert not run_folder.log.exists()


def test_a_folder_without_a_configuration(run_folder, notes) -> None:
    (run_folder.compiled / "verl.yaml").unlink()
    assert "no compiled configuration" in launch(run_folder.path, "good").reason
    assert run_folder.read_status().state is State.FAILED


def test_a_program_that_cannot_be_started(run_folder, notes) -> None:
    from orbiter_spec.launch.local import run_local

    outcome = run_local(run_folder, command_of=lambda *_: ["/no/such/program"])
    assert outcome.exit_code == 3
    assert outcome.reason == "verl could not be started: /no/such/program: No such file or directory"


def test_a_bug_of_ours_ends_the_run_and_is_named(run_folder, notes, monkeypatch) -> None:

    def broken(record: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr("orbiter_spec.launch.attempt.read", broken)
    with pytest.raises(KeyError):
        launch(run_folder.path, "slow")
    status = run_folder.read_status()
    assert (status.state, status.reason) == (State.FAILED, "an error of orbiter-spec itself: KeyError: 'a bug'")
    notes.assert_nothing_left()


def test_an_interrupt_before_the_start(run_folder, notes, monkeypatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("orbiter_spec.launch.local.check_site", interrupted)
    assert launch(run_folder.path, "good").exit_code == 130
    assert run_folder.read_status().state is State.INTERRUPTED


def test_the_library_may_run_outside_the_main_thread(run_folder, notes) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(launch, run_folder.path, "good").result(60).exit_code == 0


def test_importing_the_launcher_is_light() -> None:
    heavy = "('ray', 'torch', 'verl', 'matplotlib', 'rich')"
    code = f"import sys, orbiter_spec.launch.local; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
