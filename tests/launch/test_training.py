"""The launcher with verl itself: a kill and a resume, a Ctrl-C, and a Ray that is too small."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

from orbiter_spec.compiler import compile_spec
from orbiter_spec.launch.local import run_local
from orbiter_spec.launch.metrics import read_records
from orbiter_spec.launch.processes import descendants, is_alive, marked, shared_memory_of, start_time
from orbiter_spec.launch.progress import PlainReporter
from orbiter_spec.launch.run_folder import RunFolder, create_run_folder
from orbiter_spec.launch.scratch import MARKER
from orbiter_spec.launch.status import State
from orbiter_spec.launch.watchdog import Timeouts
from tests.launch.conftest import wait_for

pytestmark = pytest.mark.training
ROOT = Path(__file__).resolve().parent.parent.parent
LAUNCH = """\
import sys
from orbiter_spec.launch.local import run_local
from orbiter_spec.launch.reporters import make_reporter
from orbiter_spec.launch.run_folder import RunFolder
outcome = run_local(RunFolder.at(sys.argv[1]), reporter=make_reporter(), overrides=sys.argv[2:])
sys.exit(outcome.exit_code)
"""


@pytest.fixture
def quickstart(tmp_path: Path) -> RunFolder:
    """The quickstart, compiled into a new run folder, saving every second step."""
    folder = create_run_folder(tmp_path / "my runs", "quickstart", datetime(2026, 1, 2, 3, 4, 5))
    compiled = compile_spec(ROOT / "specs" / "quickstart.yaml", folder.compiled, sets=["run.checkpoint.every=2"])
    assert compiled.folder is not None, compiled.report
    return folder


@dataclass(frozen=True)
class Traces:
    """What a run has outside its folder while it goes on."""

    processes: dict[int, int | None]
    shared: set[Path]
    scratch: Path

    @classmethod
    def of(cls, folder: RunFolder) -> Traces:
        environment = Path(f"/proc/{driver_of(folder)}/environ").read_bytes().split(b"\0")
        scratch = next(entry for entry in environment if entry.startswith(b"RAY_TMPDIR=")).partition(b"=")[2].decode()
        tree = descendants(folder.read_status().pid)
        return cls({pid: start_time(pid) for pid in tree}, shared_memory_of(tree), Path(scratch))

    def assert_gone(self) -> None:
        assert len(self.processes) > 8, "Ray was not seen at work"
        assert [pid for pid, started in self.processes.items() if is_alive(pid, started)] == []
        assert marked(MARKER, self.scratch.name) == set()
        assert not self.scratch.exists()
        assert [path for path in self.shared if path.exists()] == []


def driver_of(folder: RunFolder) -> int:
    """The process of verl's entry point."""
    status = folder.read_status()
    assert status is not None
    assert status.pid is not None
    mark = b"verl.trainer.main_ppo"
    found = [pid for pid in descendants(status.pid) if mark in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
    return found[0]


def start(folder: RunFolder, *overrides: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", LAUNCH, str(folder.path), *overrides]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def step_of(folder: RunFolder) -> int:
    status = folder.read_status()
    assert status is None or status.state.is_active, status
    return status.step if status else 0


@pytest.mark.timeout(1000)
def test_a_killed_run_goes_on_from_its_checkpoint(quickstart: RunFolder, capsys) -> None:
    launcher = start(quickstart)
    wait_for(lambda: step_of(quickstart) >= 3, 480)
    traces = Traces.of(quickstart)
    os.kill(driver_of(quickstart), signal.SIGKILL)
    shown, _ = launcher.communicate(timeout=60)
    traces.assert_gone()
    assert launcher.returncode == 3
    assert "run failed: verl was killed by SIGKILL" in shown
    assert "Traceback" not in shown
    saved = quickstart.read_status().resumable_step
    assert saved in (2, 4)
    outcome = run_local(quickstart, reporter=PlainReporter(), resume=True, overrides=["trainer.total_training_steps=6"])
    assert (outcome.state, outcome.last_step) == (State.FINISHED, 6), outcome.reason
    records = read_records(quickstart.metrics)
    assert [record["step"] for record in records] == [0, 1, 2, 3, 4, 5, 6]
    assert all("critic/score/mean" in record for record in records[1:])
    assert f"going on from step {saved}" in capsys.readouterr().out
    assert f"global_step_{saved}" in quickstart.log.read_text()
    assert sorted(path.name for path in quickstart.path.iterdir() if path.is_dir()) == [
        "checkpoints",
        "compiled",
        "logs",
        "rollouts",
        "validation",
    ]
    assert not (quickstart.compiled / "outputs").exists()


@pytest.mark.timeout(700)
def test_ctrl_c_leaves_nothing_behind(quickstart: RunFolder) -> None:
    launcher = start(quickstart)
    wait_for(lambda: step_of(quickstart) >= 1, 480)
    traces = Traces.of(quickstart)
    launcher.send_signal(signal.SIGINT)
    shown, _ = launcher.communicate(timeout=60)
    traces.assert_gone()
    assert launcher.returncode == 130
    assert "run interrupted: stopped by SIGINT" in shown
    status = quickstart.read_status()
    assert (status.state, status.reason) == (State.INTERRUPTED, "stopped by SIGINT")


@pytest.mark.timeout(700)
def test_a_ray_that_is_too_small_is_ended_with_the_reason(quickstart: RunFolder) -> None:
    (quickstart.compiled / "resource_pools.yaml").unlink()
    outcome = run_local(
        quickstart,
        overrides=["ray_kwargs.ray_init.num_cpus=3"],
        timeouts=Timeouts(pending_seconds=15, silence_seconds=500),
    )
    assert outcome.state is State.FAILED
    assert "Ray could not place" in (outcome.reason or "")
    assert "'CPU': 3.0" in (outcome.reason or "")
    assert descendants(os.getpid()) == set()
