"""One attempt: verl is started, watched to its end, and how it ended is settled.

Metrics, output and signals are looked at five times a second, Ray's own report less often. Whatever happens, the
supervisor has ended everything before the status says how the attempt ended.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orbiter_spec.diagnostics import Diagnostic
from orbiter_spec.launch.checkpoints import latest_checkpoint
from orbiter_spec.launch.command import run_environment
from orbiter_spec.launch.failure import TAIL_BYTES, explain_failure, is_worth_another_try
from orbiter_spec.launch.interrupts import Interrupts
from orbiter_spec.launch.log_file import PHASES, LogFollower, phase_in
from orbiter_spec.launch.machine import MachineLog
from orbiter_spec.launch.metrics import Attempt, MetricsFollower, merge_attempts, read_records
from orbiter_spec.launch.metrics_parquet import write_parquet
from orbiter_spec.launch.plot import draw, write_image
from orbiter_spec.launch.processes import start_time
from orbiter_spec.launch.progress import Reporter, closing_lines
from orbiter_spec.launch.ray_demand import unmet_demand
from orbiter_spec.launch.reading import curve, read
from orbiter_spec.launch.run_folder import STOP_FILE, RunFolder
from orbiter_spec.launch.scratch import make_scratch, remove_stale_scratch
from orbiter_spec.launch.session import Session
from orbiter_spec.launch.status import State, Status, changed, utc_now
from orbiter_spec.launch.supervisor import Job
from orbiter_spec.launch.verl_config import VerlConfig, checkpoints_folder
from orbiter_spec.launch.watchdog import Timeouts, Watchdog

POLL_SECONDS = 0.2
DEMAND_SECONDS = 5.0
EXIT_CODES = {State.FINISHED: 0, State.FAILED: 3, State.INTERRUPTED: 130}


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended. `exit_code` is that of the command: 0 done, 3 failed, 130 interrupted.

    `again` is true for an attempt that another one follows.
    """

    state: State
    reason: str | None
    exit_code: int
    last_step: int
    diagnostics: tuple[Diagnostic, ...] = ()
    again: bool = False


@dataclass(slots=True)
class Run:
    """One attempt while it goes on."""

    folder: RunFolder
    config: VerlConfig
    reporter: Reporter
    timeouts: Timeouts
    status: Status
    attempt: Attempt
    overrides: list[str]
    command: list[str]
    total: int | None
    log: LogFollower
    retries: int
    environment: dict[str, str]
    secrets: dict[str, str]
    watchdog: Watchdog
    verdict: str | None = None
    notes: list[str] = field(default_factory=list)
    asked: float = 0.0
    phase: int = 0


def run_attempt(run: Run) -> RunOutcome:
    """Start verl, watch it to its end, and settle."""
    with Interrupts() as interrupts:
        session: Session | None = None
        try:
            session = _start(run)
            _watch(run, session, interrupts)
        except OSError as error:
            run.verdict = run.verdict or f"{error.strerror or error}: {error.filename or run.folder.path}"
        finally:
            if session is not None:
                session.abandon()
        return _settle(run, session, interrupts)


def _start(run: Run) -> Session:
    remove_stale_scratch()
    scratch = make_scratch()
    with run.folder.log.open("a", encoding="utf-8") as log:
        log.write(f"# attempt {run.attempt.number}, {utc_now()}: {shlex.join(run.command)}\n")
    run.log = LogFollower(run.folder.log)
    job = Job(
        command=run.command,
        cwd=str(run.folder.compiled),
        log=str(run.folder.log),
        scratch=str(scratch),
        status=str(run.folder.status_file),
        kept_logs=str(run.folder.logs / "ray"),
        grace_seconds=run.timeouts.grace_seconds,
        secrets=list(run.secrets),
    )
    inherited = {**os.environ, **run.environment, **run.secrets}
    session = Session.start(job, run_environment(run.config, run.folder, run.attempt, scratch, inherited))
    pid = session.process.pid
    _store(run, state=State.RUNNING, pid=pid, pid_started=start_time(pid))
    tell(run.reporter.begin, run.folder)
    tell(run.reporter.phase, "starting verl")
    return session


def _watch(run: Run, session: Session, interrupts: Interrupts) -> None:
    """Carry metrics and signs of life until the session has ended."""
    follower = MetricsFollower(run.folder.logs, run.attempt, run.folder.metrics)
    machine = MachineLog(run.folder.machine)
    while not session.ended:
        session.poll(POLL_SECONDS)
        _take_metrics(run, follower)
        _take_output(run)
        _take_demand(run, session)
        machine.poll(run.status.step)
        run.verdict = run.verdict or run.watchdog.verdict()
        if interrupts.count or run.verdict:
            if "stop" not in session.orders:
                tell(run.reporter.phase, "stopping; once more to kill")
            session.ask("stop")
        if interrupts.count > 1:
            session.ask("kill")
    machine.close()
    _take_metrics(run, follower)


def _take_metrics(run: Run, follower: MetricsFollower) -> None:
    for record in follower.poll():
        reading = read(record)
        run.watchdog.hear_step()
        _store(run, step=max(run.status.step, reading.step))
        tell(run.reporter.reading, reading, run.total)


def _take_output(run: Run) -> None:
    text = run.log.new_text()
    if not text:
        return
    run.watchdog.hear_output(text)
    phase = phase_in(text, run.phase)
    if phase > run.phase and run.status.step <= run.attempt.from_step:
        tell(run.reporter.phase, PHASES[phase - 1][1])
    run.phase = phase


def _take_demand(run: Run, session: Session) -> None:
    now = time.monotonic()
    if now - run.asked >= DEMAND_SECONDS:
        run.asked = now
        run.watchdog.hear_demand(unmet_demand(Path(session.job.scratch)))


def _store(run: Run, **values: Any) -> None:
    """Update the status; a full disk must not end a run that could still go on."""
    run.status = changed(run.status, **values)
    with contextlib.suppress(OSError):
        run.folder.write_status(run.status)


def _settle(run: Run, session: Session | None, interrupts: Interrupts) -> RunOutcome:
    """Say how it ended, in the status and to the person."""
    with contextlib.suppress(OSError):
        merge_attempts(run.folder.logs, run.folder.metrics)
    state, reason = _judge(run, session, interrupts)
    saved = latest_checkpoint(checkpoints_folder(run.config, run.folder))
    code = session.exit_code if session else None
    if session is not None and session.left:
        run.notes.append(f"{session.left} processes of the run could not be ended")
    again = state is State.FAILED and run.retries > 0 and is_worth_another_try(reason)
    ending = {"exit_code": code, "resumable_step": saved.step if saved else None, "reason": reason}
    if again:
        own = {"pid": os.getpid(), "pid_started": start_time(os.getpid())}
        _store(run, state=State.PREPARING, **ending, **own)
        step = saved.step if saved else run.attempt.from_step
        tell(run.reporter.note, f"attempt {run.attempt.number} failed: {reason}; going on from step {step}")
    else:
        _store(run, state=state, **ending)
        _close(run, state, reason)
    return RunOutcome(state, reason, EXIT_CODES[state], run.status.step, again=again)


def _judge(run: Run, session: Session | None, interrupts: Interrupts) -> tuple[State, str | None]:
    code = session.exit_code if session else None
    if (
        code == 0
        and run.verdict is None
        and (run.total is None or run.status.step >= run.total or not interrupts.count)
    ):
        short = run.total is not None and run.status.step < run.total
        return State.FINISHED, f"verl ended after step {run.status.step} of {run.total}" if short else None
    if interrupts.first is not None:
        return State.INTERRUPTED, f"stopped by {interrupts.first.name}"
    if (run.folder.logs / STOP_FILE).exists():
        return State.INTERRUPTED, "stopped by orbiter-spec stop"
    if run.verdict is not None:
        return State.FAILED, run.verdict
    if session is None or session.problem is not None:
        return State.FAILED, session.problem if session else "the run could not be started"
    return State.FAILED, explain_failure(run.log.all_text(TAIL_BYTES), code)


def _close(run: Run, state: State, reason: str | None) -> None:
    records = read_records(run.folder.metrics)
    training, validation = curve(records, validation=False), curve(records, validation=True)
    title = "validation reward" if len(validation) > 1 else "training reward"
    plot = draw(validation if len(validation) > 1 else training, title=title)
    if records:
        with contextlib.suppress(OSError):
            write_parquet(run.folder.metrics_table, records)
        note = write_image(run.folder.report_image, title=run.folder.name, training=training, validation=validation)
        run.notes += [note] if note else [f"plot: {run.folder.report_image}"]
    if state is not State.FINISHED and run.status.resumable_step:
        run.notes.append(f"--resume goes on from step {run.status.resumable_step}")
    tell(run.reporter.close)
    tell(run.reporter.note, closing_lines(run.folder.path, run.folder.log, state, reason, plot, run.notes))


def tell(what: Callable[..., None], *values: object) -> None:
    """Report; a reader that has gone away does not stop training."""
    with contextlib.suppress(OSError, ValueError):
        what(*values)
