"""The program that Ray starts for a run: verl's entry point, again after a failure, and word of it in the log.

It stands between Ray's job and verl so that a run goes on by itself when nobody watches: a failed attempt is followed
by one from the last whole checkpoint, as often as the task allows. verl dies with it (`PR_SET_PDEATHSIG`), Ray ends
verl's actors with verl, so nothing outlives it. A full disk is not tried again: the next attempt would fill it too.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from orbiter_spec.launch.checkpoints import Checkpoint, CheckpointError, latest_checkpoint, named_checkpoint
from orbiter_spec.launch.cluster.task import TOKEN_FILE, Task, event_line
from orbiter_spec.launch.failure import explain_failure, is_worth_another_try
from orbiter_spec.launch.metrics import MetricsFile, next_attempt
from orbiter_spec.launch.secrets import Scrubber, SecretMissingError, resolve_secrets
from orbiter_spec.launch.verl_config import logger_folders, quoted, resume_overrides
from orbiter_spec.launch.watchdog import Timeouts, Watchdog

POLL_SECONDS = 0.5
READ_BYTES = 1 << 20
BACKOFF_SECONDS = 5.0
TAIL_LINES = 4000
PR_SET_PDEATHSIG = 1
OWN_LOGS = Path("logs", "cluster")
MODULE = f"{(__package__ or 'orbiter_cluster.cluster')}"


class RefusedError(Exception):
    """The run cannot start here; the message says why."""


@dataclass(slots=True)
class Driver:
    """The task, where its output goes, and what must not be printed."""

    task: Task
    here: Path
    output: Path = field(default_factory=Path)
    secrets: dict[str, str] = field(default_factory=dict)
    scrubber: Scrubber = field(default_factory=Scrubber)
    stopped: bool = False
    saved: int | None = None

    def say(self, event: str, **values: object) -> None:
        """One event for whoever follows."""
        self.write(event_line(event, **values).encode())

    def write(self, data: bytes) -> None:
        """Print, without secrets."""
        sys.stdout.buffer.write(self.scrubber.clean(data))
        sys.stdout.buffer.flush()


def main() -> int:
    """Run the task of the current folder; returns the exit code of the job."""
    driver = Driver(Task.read(Path.cwd()), Path.cwd())
    signal.signal(signal.SIGTERM, lambda *_: setattr(driver, "stopped", True))
    try:
        prepare(driver)
        with locked(driver.output / OWN_LOGS / ".lock"):
            return run(driver)
    except (RefusedError, CheckpointError, SecretMissingError, OSError) as error:
        reason = f"{error.strerror}: {error.filename}" if isinstance(error, OSError) else str(error)
        driver.say("ended", state="failed", reason=reason, step=0, resumable_step=None, code=None)
        return 1


def prepare(driver: Driver) -> None:
    """Find secrets and the output folder.

    Raises:
        RefusedError, SecretMissingError, OSError: when one is not to be had.
    """
    driver.secrets = resolve_secrets(driver.task.secrets)
    driver.scrubber = Scrubber.of(driver.secrets)
    driver.output, shared = choose_folder(driver.task)
    (driver.output / OWN_LOGS).mkdir(parents=True, exist_ok=True)
    token = driver.output / TOKEN_FILE
    token.write_text(driver.task.run, encoding="utf-8")
    blind = blind_nodes(token)
    if blind:
        raise RefusedError(
            f"{driver.output} is not the same folder on every node: {', '.join(blind)} does not see it; "
            "set hardware.cluster.folder to one on a shared file system"
        )
    driver.say("placed", folder=str(driver.output), host=socket.gethostname(), shared=shared)


def choose_folder(task: Task) -> tuple[Path, bool]:
    """Where output goes, and whether that is the client's own run folder."""
    own = Path(task.run_folder)
    with contextlib.suppress(OSError):
        if (own / TOKEN_FILE).read_text(encoding="utf-8") == task.run and not task.folder:
            return own, True
    root = Path(task.folder) if task.folder else Path("~/orbiter-runs")
    return root.expanduser() / task.name, False


def blind_nodes(token: Path) -> list[str]:
    """Addresses of nodes that do not see `token`."""
    command = [sys.executable, "-m", f"{MODULE}.sees", str(token)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120, check=False)
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    if done.returncode != 0 or not lines:
        return []
    answer = json.loads(lines[-1])
    return [str(node) for node in answer["blind"]]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the output folder, so that two submissions of one run never write it together."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RefusedError("another job of this run is at work in the same folder") from None
        yield


def run(driver: Driver) -> int:
    """Attempts, until one ends well or none is left."""
    task = driver.task
    for number in range(task.attempt, task.attempt + task.retries + 1):
        saved = starting_point(driver, resume=task.resume or number > task.attempt)
        from_step = saved.step if saved else 0
        if task.total_steps is not None and from_step >= task.total_steps:
            driver.say("ended", state="finished", reason=None, step=from_step, resumable_step=from_step, code=0)
            return 0
        driver.say("attempt", number=number, from_step=from_step)
        code, reason, step = attempt(driver, from_step, saved.path if saved else None)
        left = latest_checkpoint(driver.output / task.checkpoints)
        ending = {"step": step, "resumable_step": left.step if left else None, "code": code}
        if code == 0 or driver.stopped:
            state = "finished" if code == 0 else "interrupted"
            driver.say("ended", state=state, reason=None if code == 0 else "stopped", **ending)
            return 0 if code == 0 else 1
        last = number == task.attempt + task.retries or not is_worth_another_try(reason)
        driver.say("ended" if last else "failed", state="failed", reason=reason, **ending)
        if last:
            return 1
        time.sleep(BACKOFF_SECONDS)
    return 1


def starting_point(driver: Driver, resume: bool) -> Checkpoint | None:
    """The run's own last whole checkpoint, else the one that the spec begins from. Raises CheckpointError."""
    own = latest_checkpoint(driver.output / driver.task.checkpoints) if resume else None
    named = driver.task.resume_from
    return own or (named_checkpoint(driver.here / named) if named else None)


def attempt(driver: Driver, from_step: int, checkpoint: Path | None) -> tuple[int | None, str, int]:
    """One start of verl: its exit code, the reason of a failure, the last step that was measured."""
    logs = driver.output / OWN_LOGS
    file = next_attempt(logs, from_step)
    process = start(driver, command(driver, file.path, checkpoint))
    watchdog = Watchdog(Timeouts(silence_seconds=driver.task.silence_seconds))
    metrics, output, step = MetricsFile(file.path), Output(process), from_step
    asked: float | None = None
    verdict: str | None = None
    while True:
        ended = process.poll() is not None
        data = output.read(0.0 if ended else POLL_SECONDS)
        watchdog.hear_output(data.decode("utf-8", errors="replace"))
        driver.write(data)
        for record in metrics.poll():
            step = max(step, int(record["step"]))
            watchdog.hear_step()
            driver.say("metrics", record=record)
            tell_saved(driver)
        if ended and not data:
            break
        verdict = verdict or watchdog.verdict()
        if (driver.stopped or verdict) and asked is None:
            asked = time.monotonic()
            process.terminate()
        if asked is not None and time.monotonic() - asked > driver.task.grace_seconds:
            process.kill()
    driver.write(output.rest())
    tail = driver.scrubber.clean(b"".join(output.tail)).decode("utf-8", errors="replace")
    return process.returncode, verdict or explain_failure(tail, process.returncode), step


def tell_saved(driver: Driver) -> None:
    """Say where the run could go on, when that has changed: who is stopped by Ray may have no time for a last word."""
    with contextlib.suppress(OSError):
        found = latest_checkpoint(driver.output / driver.task.checkpoints)
        if found is not None and found.step != driver.saved:
            driver.saved = found.step
            driver.say("saved", step=found.step)


@dataclass(slots=True)
class Output:
    """What a process prints, in whole lines; the last ones are kept."""

    process: subprocess.Popen[bytes]
    tail: deque[bytes] = field(default_factory=lambda: deque(maxlen=TAIL_LINES))
    _begun: bytes = b""

    def read(self, seconds: float) -> bytes:
        """The lines that are completed within `seconds`; empty when there are none."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            return b""
        data = os.read(self.process.stdout.fileno(), READ_BYTES)
        if not data:
            time.sleep(seconds)
            return b""
        whole, mark, self._begun = (self._begun + data).rpartition(b"\n")
        self.tail.extend((whole + mark).splitlines(keepends=True))
        return whole + mark

    def rest(self) -> bytes:
        """A last line without an end."""
        assert self.process.stdout is not None
        self.process.stdout.close()
        rest, self._begun = self._begun, b""
        self.tail.append(rest)
        return rest + b"\n" if rest else b""


def command(driver: Driver, metrics: Path, checkpoint: Path | None) -> list[str]:
    """verl's entry point on this folder. What its processes must know of the attempt goes through Ray's environment."""
    task = driver.task
    outputs = [f"{key}={quoted(driver.output / value)}" for key, value in task.outputs.items()]
    own = {name: value for name, value in logger_folders(driver.output / "logs").items() if name not in os.environ}
    variables = {"VERL_FILE_LOGGER_PATH": str(metrics), **own}
    environment = [
        f"+ray_kwargs.ray_init.runtime_env.env_vars.{name}={quoted(value)}" for name, value in variables.items()
    ]
    resume = resume_overrides(checkpoint) if checkpoint or task.resume or task.retries else []
    fixed = [
        f"hydra.run.dir={quoted(driver.output / OWN_LOGS)}",
        "hydra.output_subdir=null",
        "hydra/job_logging=stdout",
    ]
    program = [
        sys.executable,
        "-m",
        "verl.trainer.main_ppo",
        "--config-path",
        str(driver.here),
        "--config-name",
        "verl",
    ]
    return [*program, *fixed, *outputs, *environment, *resume, *task.overrides]


def start(driver: Driver, arguments: list[str]) -> subprocess.Popen[bytes]:
    """Start verl; it dies with this process."""
    us = os.getpid()

    def before_exec() -> None:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != us:
            os._exit(1)

    environment = {"HYDRA_FULL_ERROR": "1", "RAY_COLOR_PREFIX": "0", **os.environ, **driver.secrets}
    return subprocess.Popen(
        arguments,
        cwd=driver.here,
        env={**environment, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=before_exec,
    )


if __name__ == "__main__":
    sys.exit(main())
