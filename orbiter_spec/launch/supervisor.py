"""The small process between the launcher and verl: whatever a run starts, it ends.

Ray's daemons leave their session and process group, and its workers overwrite the memory that /proc shows as their
environment, so neither finds them all. This process makes itself the one to which orphans return (Linux'
`PR_SET_CHILD_SUBREAPER`): everything that the driver started, however detached, stays below it and nothing else does.
It is a process of its own because the launcher may live in a notebook, whose children are none of our business.

It obeys lines on standard input (`stop`, `kill`) and takes the end of input, or a new parent, for the launcher's death.
It reports events as JSON lines on standard output. The driver dies with it (`PR_SET_PDEATHSIG`), and Ray's daemons with
the driver. Only the standard library is imported, for a start within milliseconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from orbiter_spec.launch.processes import descendants, shared_memory_of
from orbiter_spec.launch.scratch import remove_shared_memory
from orbiter_spec.launch.secrets import Scrubber
from orbiter_spec.launch.status import State, changed, read_status, write_status

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
POLL_SECONDS = 0.1
SHARED_MEMORY_SECONDS = 5.0
LEAVE_SECONDS = 3.0
KILL_SECONDS = 20.0
KEPT_LOG_BYTES = 1 << 20
ORPHANED = "the program that started the run was killed"


@dataclass(frozen=True, slots=True)
class Job:
    """What to run: `command` in `cwd`, printing to `log`; `scratch` is thrown away at the end.

    `secrets` are names of variables whose values must not reach the log.
    """

    command: list[str]
    cwd: str
    log: str
    scratch: str
    status: str
    kept_logs: str
    grace_seconds: float
    secrets: list[str] = field(default_factory=list)

    def to_json(self) -> str:
        """The one argument of this program."""
        return json.dumps(asdict(self))


@dataclass(slots=True)
class Supervision:
    """What is known about the job so far."""

    job: Job
    driver: int = 0
    exit_code: int | None = None
    orphaned: bool = False
    stopping_since: float | None = None
    kill: bool = False
    shared_memory: set[Path] = field(default_factory=set)
    inbox: bytes = b""


def prctl(option: int, value: int) -> None:
    """Call prctl(2); a refusal is an OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")


def say(event: str, **values: Any) -> None:
    """One event for the launcher, which may be gone."""
    with contextlib.suppress(OSError, ValueError):
        print(json.dumps({"event": event, **values}), flush=True)


def start_driver(job: Job) -> tuple[int, threading.Thread | None]:
    """Start the command in a session of its own; it dies when this process does."""
    us = os.getpid()

    def before_exec() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        if os.getppid() != us:
            os._exit(1)

    with open(job.log, "ab", buffering=0) as log:
        driver = subprocess.Popen(
            job.command,
            cwd=job.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if job.secrets else log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=before_exec,
        )
    driver.returncode = 0  # collected by `reap`, together with the orphans
    if driver.stdout is None:
        return driver.pid, None
    copier = threading.Thread(target=scrub, args=(job, driver.stdout), daemon=True)
    copier.start()
    return driver.pid, copier


def scrub(job: Job, output: IO[bytes]) -> None:
    """Copy `output` to the log line by line, without the values of secrets."""
    scrubber = Scrubber.of({name: os.environ.get(name, "") for name in job.secrets})
    with open(job.log, "ab", buffering=0) as log, output:
        for line in output:
            with contextlib.suppress(OSError):
                log.write(scrubber.clean(line))


def reap(run: Supervision) -> None:
    """Collect every child that has ended; remember how the driver did."""
    while True:
        try:
            pid, state = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if pid == run.driver:
            run.exit_code = os.waitstatus_to_exitcode(state)


def listen(run: Supervision, parent: int) -> None:
    """Wait a moment for orders."""
    if run.orphaned:
        time.sleep(POLL_SECONDS)
        return
    ready, _, _ = select.select([0], [], [], POLL_SECONDS)
    data = os.read(0, 4096) if ready else b""
    run.orphaned = os.getppid() != parent or (bool(ready) and not data)
    run.inbox += data
    *orders, run.inbox = run.inbox.split(b"\n")
    run.kill = run.kill or b"kill" in orders
    if (orders or run.orphaned) and run.stopping_since is None:
        run.stopping_since = time.monotonic()
        _signal({run.driver}, signal.SIGTERM)


def watch(run: Supervision, parent: int) -> None:
    """Return when the driver has ended, or must be killed."""
    looked = 0.0
    while run.exit_code is None and not run.kill:
        listen(run, parent)
        reap(run)
        now = time.monotonic()
        if now - looked > SHARED_MEMORY_SECONDS:
            looked = now
            run.shared_memory |= shared_memory_of(descendants(os.getpid()))
        if run.stopping_since is not None and now - run.stopping_since > run.job.grace_seconds:
            return


def sweep(run: Supervision) -> int:
    """End every process that is left: a moment to leave when the driver went by itself, then no mercy."""
    us = os.getpid()
    run.shared_memory |= shared_memory_of(descendants(us))
    if run.exit_code is not None and not run.kill:
        _until(lambda: not _left(run, us), LEAVE_SECONDS if run.stopping_since is None else LEAVE_SECONDS / 3)

    def killed() -> bool:
        _signal(descendants(us), signal.SIGKILL)
        return not _left(run, us)

    _until(killed, KILL_SECONDS)
    return len(descendants(us))


def _left(run: Supervision, us: int) -> set[int]:
    reap(run)
    return descendants(us)


def _until(done: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        time.sleep(0.05)


def _signal(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def tidy(run: Supervision) -> None:
    """Remove shared memory that only this run used, and its scratch folder; keep Ray's own logs of a failure."""
    remove_shared_memory(run.shared_memory)
    if run.exit_code != 0 and run.stopping_since is None:
        keep_logs(Path(run.job.scratch), Path(run.job.kept_logs))
    shutil.rmtree(run.job.scratch, ignore_errors=True)


def keep_logs(scratch: Path, kept: Path) -> None:
    """Copy the ends of the logs of Ray's daemons."""
    for name in ("raylet.out", "raylet.err", "gcs_server.out", "gcs_server.err"):
        for path in scratch.glob(f"ray/session_2*/logs/{name}"):
            with contextlib.suppress(OSError):
                kept.mkdir(parents=True, exist_ok=True)
                (kept / name).write_bytes(path.read_bytes()[-KEPT_LOG_BYTES:])


def note_orphan(run: Supervision) -> None:
    """The launcher cannot say how the run ended, so this process does."""
    path = Path(run.job.status)
    status = read_status(path)
    if status is None or not status.state.is_active:
        return
    end = State.FINISHED if run.exit_code == 0 and run.stopping_since is None else State.INTERRUPTED
    with contextlib.suppress(OSError):
        reason = None if end is State.FINISHED else ORPHANED
        write_status(path, changed(status, state=end, reason=reason, exit_code=run.exit_code))


def supervise(job: Job) -> int:
    """Run `job` to its end; returns this program's exit code."""
    parent = os.getppid()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    run = Supervision(job)
    signal.signal(signal.SIGTERM, lambda *_: _stop(run))
    try:
        run.driver, copier = start_driver(job)
    except OSError as error:
        say("refused", reason=f"{job.command[0]}: {error.strerror}")
        shutil.rmtree(job.scratch, ignore_errors=True)
        return 1
    say("started", pid=run.driver)
    watch(run, parent)
    left = sweep(run)
    if copier is not None:
        copier.join(LEAVE_SECONDS)
    tidy(run)
    say("ended", code=run.exit_code, left=left)
    if run.orphaned or os.getppid() != parent:
        note_orphan(run)
    return 0


def _stop(run: Supervision) -> None:
    if run.stopping_since is None:
        run.stopping_since = time.monotonic()
        _signal({run.driver}, signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(supervise(Job(**json.loads(sys.argv[1]))))
