"""Run folders with a small compiled configuration, and a launcher in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from orbiter_spec.launch.local import run_local
from orbiter_spec.launch.processes import is_alive
from orbiter_spec.launch.run_folder import RunFolder, create_run_folder
from orbiter_spec.launch.watchdog import Timeouts

DRIVER = Path(__file__).with_name("driver.py")
VERL_YAML = """\
trainer:
  device: cpu
  nnodes: 1
  n_gpus_per_node: 1
  total_training_steps: null
  total_epochs: 1
  logger: [console]
  default_local_dir: checkpoints
  rollout_data_dir: rollouts
ray_kwargs:
  ray_init: {address: local, num_cpus: 5, num_gpus: 1}
"""
LAUNCH = """\
import sys
from pathlib import Path
from tests.launch.conftest import launch
outcome = launch(Path(sys.argv[1]), sys.argv[2], resume=sys.argv[3] == "resume", grace=float(sys.argv[4]))
sys.exit(outcome.exit_code)
"""


def launch(folder: Path, scenario: str, *, resume: bool = False, grace: float = 2.0, overrides=(), **limits):
    """`run_local` with the driver of these tests in verl's place."""
    from orbiter_spec.launch.progress import PlainReporter

    return run_local(
        RunFolder.at(folder),
        reporter=PlainReporter(),
        resume=resume,
        overrides=overrides,
        timeouts=Timeouts(grace_seconds=grace, **limits),
        command_of=lambda _, given: [sys.executable, str(DRIVER), scenario, *given],
    )


def wait_for(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait until `condition` holds; a failure after `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


class Notes:
    """What the driver wrote down about itself: its process id and its daemon's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def pid(self, name: str) -> int:
        return int((self.folder / name).read_text())

    def wait(self) -> None:
        wait_for((self.folder / "driver").exists)

    def assert_nothing_left(self) -> None:
        daemon, driver = self.pid("daemon"), self.pid("driver")
        assert not is_alive(driver)
        assert not is_alive(daemon)
        assert not Path(f"/dev/shm/orbiter-test-{daemon}").exists()
        assert not Path((self.folder / "scratch").read_text()).exists()


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notes]:
    folder = tmp_path / "notes"
    folder.mkdir()
    monkeypatch.setenv("TEST_NOTES", str(folder))
    yield Notes(folder)
    for name in ("driver", "daemon"):
        if (folder / name).exists() and is_alive(int((folder / name).read_text())):
            os.kill(int((folder / name).read_text()), signal.SIGKILL)


@pytest.fixture
def run_folder(tmp_path: Path) -> RunFolder:
    """A run folder whose name tries the quoting of every layer."""
    folder = create_run_folder(tmp_path / "it's a = [run], {really}", "small", datetime(2026, 1, 2, 3, 4, 5))
    folder.compiled.mkdir()
    (folder.compiled / "verl.yaml").write_text(VERL_YAML, encoding="utf-8")
    (folder.compiled / "plan.json").write_text(
        '{"batches": {"total_steps": 4, "steps_per_epoch": 4}}', encoding="utf-8"
    )
    return folder


@pytest.fixture
def start(notes: Notes, run_folder: RunFolder) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a launcher in a process of its own."""
    started: list[subprocess.Popen[str]] = []

    def begin(scenario: str, *, resume: bool = False, grace: float = 2.0) -> subprocess.Popen[str]:
        command = [
            sys.executable,
            "-c",
            LAUNCH,
            str(run_folder.path),
            scenario,
            "resume" if resume else "new",
            str(grace),
        ]
        root = Path(__file__).resolve().parent.parent.parent
        process = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()
