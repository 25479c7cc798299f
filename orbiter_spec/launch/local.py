"""Train on this machine: verl's entry point on a compiled folder, watched from start to end.

Order: is the folder free, is the machine ready, where to go on; then start, watch (metrics, output, signals), and
settle how it ended. Every way out writes the status; a launcher that is killed leaves that to the supervisor, and a
status left `running` by both is read as a failure.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

from orbiter_spec.diagnostics import Diagnostic, Report
from orbiter_spec.launch.checkpoints import latest_checkpoint
from orbiter_spec.launch.command import run_environment, verl_command
from orbiter_spec.launch.failure import TAIL_BYTES, explain_failure
from orbiter_spec.launch.interrupts import Interrupts
from orbiter_spec.launch.log_file import LogFollower, phase_in
from orbiter_spec.launch.metrics import Attempt, MetricsFollower, merge_attempts, next_attempt, read_records
from orbiter_spec.launch.plot import draw, write_image
from orbiter_spec.launch.processes import start_time
from orbiter_spec.launch.progress import Reporter, Silent, closing_lines
from orbiter_spec.launch.ray_demand import unmet_demand
from orbiter_spec.launch.reading import curve, read
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.scratch import make_scratch, remove_stale_scratch
from orbiter_spec.launch.session import Session
from orbiter_spec.launch.site import check_site
from orbiter_spec.launch.status import PROCESS_DIED, State, Status, changed, new_status, utc_now
from orbiter_spec.launch.supervisor import Job
from orbiter_spec.launch.verl_config import (
    VerlConfig,
    binding_overrides,
    checkpoints_folder,
    overridden,
    read_verl_config,
    resume_overrides,
    total_steps,
)
from orbiter_spec.launch.watchdog import Timeouts, Watchdog

__all__ = ["Reporter", "RunOutcome", "Timeouts", "run_local"]

POLL_SECONDS = 0.2
DEMAND_SECONDS = 5.0
CommandOf = Callable[[RunFolder, Sequence[str]], list[str]]
EXIT_CODES = {State.FINISHED: 0, State.FAILED: 3, State.INTERRUPTED: 130}


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended. `exit_code` is that of the command: 0 done, 3 failed, 130 interrupted."""

    state: State
    reason: str | None
    exit_code: int
    last_step: int
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(slots=True)
class _Run:
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
    watchdog: Watchdog
    verdict: str | None = None
    notes: list[str] = field(default_factory=list)
    asked: float = 0.0


def run_local(
    folder: RunFolder,
    *,
    reporter: Reporter | None = None,
    resume: bool = False,
    overrides: Sequence[str] = (),
    timeouts: Timeouts | None = None,
    command_of: CommandOf = verl_command,
) -> RunOutcome:
    """Train `folder/compiled` here and wait for the end.

    `resume` goes on from the last whole checkpoint of the folder, or from the beginning when there is none.
    `overrides` are Hydra overrides for verl. `command_of` makes the command line, for wrappers around verl's program.
    Nothing that the run started is alive when this returns. The reporter is closed.
    """
    reporter = reporter or Silent()
    try:
        with _locked(folder) as free:
            refusal = None if free else "the run is going on already"
            refusal = refusal or _refuse(folder, resume)
            if refusal:
                return _refused(reporter, refusal)
            with _own_errors_noted(folder):
                return _run(folder, reporter, resume, list(overrides), timeouts or Timeouts(), command_of)
    finally:
        with contextlib.suppress(OSError, ValueError):
            reporter.close()


def _refused(reporter: Reporter, reason: str) -> RunOutcome:
    _tell(reporter.note, f"not started: {reason}")
    return RunOutcome(State.FAILED, reason, EXIT_CODES[State.FAILED], 0)


@contextmanager
def _own_errors_noted(folder: RunFolder) -> Iterator[None]:
    """An exception here is a bug of ours: the status names it before it goes on its way."""
    try:
        yield
    except Exception as error:
        status = folder.read_status()
        if status is not None and (status.state.is_active or status.reason == PROCESS_DIED):
            reason = f"an error of orbiter-spec itself: {type(error).__name__}: {error}"
            with contextlib.suppress(OSError):
                folder.write_status(changed(status, state=State.FAILED, reason=reason))
        raise


@contextmanager
def _locked(folder: RunFolder) -> Iterator[bool]:
    """Hold the run folder for this process; False when another one holds it."""
    folder.logs.mkdir(parents=True, exist_ok=True)
    with (folder.logs / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


def _refuse(folder: RunFolder, resume: bool) -> str | None:
    status = folder.read_status()
    if status is None:
        return None
    if status.state.is_active and status.pid != os.getpid():
        return f"the run is going on already, on {status.host} in process {status.pid}"
    if not resume and status.state is not State.PREPARING:
        return "the folder holds a run; go on with it by --resume, or start a new one"
    return None


def _plan(folder: RunFolder) -> tuple[int | None, int | None]:
    """Steps of the whole training and of an epoch, as the compiled plan counted them."""
    try:
        batches = json.loads((folder.compiled / "plan.json").read_text(encoding="utf-8"))["batches"]
        return batches.get("total_steps"), batches.get("steps_per_epoch")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None, None


def _raised_epochs(config: VerlConfig, overrides: list[str], total: int | None, per_epoch: int | None) -> list[str]:
    """More steps than the compiled epochs hold need more epochs: verl stops at whichever ends first."""
    if overridden(config, overrides, "trainer.total_training_steps") is None or not total or not per_epoch:
        return []
    need = ceil(total / per_epoch)
    has_own = overridden(config, overrides, "trainer.total_epochs") is not None
    return [] if has_own or need <= config.number("trainer.total_epochs", 1) else [f"trainer.total_epochs={need}"]


def _run(
    folder: RunFolder,
    reporter: Reporter,
    resume: bool,
    overrides: list[str],
    timeouts: Timeouts,
    command_of: CommandOf,
) -> RunOutcome:
    before = folder.read_status()
    status = new_status(attempt=before.attempt + 1 if before and resume else 1)
    if before is not None and resume:
        status = changed(status, started_at=before.started_at, step=before.step)
    folder.write_status(status)
    try:
        config = read_verl_config(folder.compiled)
    except (OSError, ValueError) as error:
        return _end_early(folder, reporter, status, f"no compiled configuration: {error}")
    problems = Report.of(check_site(config, folder.compiled))
    if not problems.ok:
        reason = "; ".join(f"{found.message} ({found.help})" for found in problems if found.severity == "error")
        return _end_early(folder, reporter, status, reason, tuple(problems))
    planned, per_epoch = _plan(folder)
    total = total_steps(config, overrides, planned)
    checkpoint = latest_checkpoint(checkpoints_folder(config, folder)) if resume else None
    from_step = checkpoint.step if checkpoint else 0
    if checkpoint and total is not None and checkpoint.step >= total:
        return _nothing_left(folder, reporter, status, checkpoint.step, total)
    if resume:
        _tell(reporter.note, f"going on from step {from_step}" if checkpoint else "no whole checkpoint: starting over")
    all_overrides = [
        *binding_overrides(config, folder),
        *(resume_overrides(checkpoint.path if checkpoint else None) if resume else []),
        *_raised_epochs(config, overrides, total, per_epoch),
        *overrides,
    ]
    run = _Run(
        folder,
        config,
        reporter,
        timeouts,
        changed(status, step=from_step, total_steps=total, resumable_step=from_step or None),
        next_attempt(folder.logs, from_step),
        all_overrides,
        command_of(folder, all_overrides),
        total,
        LogFollower(folder.log),
        Watchdog(timeouts),
    )
    return _attempt(run)


def _end_early(
    folder: RunFolder, reporter: Reporter, status: Status, reason: str, problems: tuple[Diagnostic, ...] = ()
) -> RunOutcome:
    folder.write_status(changed(status, state=State.FAILED, reason=reason))
    _tell(reporter.note, closing_lines(folder.path, folder.log, "failed", reason, "", []))
    return RunOutcome(State.FAILED, reason, EXIT_CODES[State.FAILED], status.step, problems)


def _nothing_left(folder: RunFolder, reporter: Reporter, status: Status, step: int, total: int) -> RunOutcome:
    done = changed(status, state=State.FINISHED, step=step, total_steps=total, exit_code=0, resumable_step=step)
    folder.write_status(done)
    merge_attempts(folder.logs, folder.metrics)
    _tell(reporter.note, f"nothing left to do: step {step} of {total} is saved; raise trainer.total_training_steps")
    return RunOutcome(State.FINISHED, None, 0, step)


def _attempt(run: _Run) -> RunOutcome:
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


def _start(run: _Run) -> Session:
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
    )
    session = Session.start(job, run_environment(run.config, run.folder, run.attempt, scratch, os.environ))
    pid = session.process.pid
    _store(run, state=State.RUNNING, pid=pid, pid_started=start_time(pid))
    _tell(run.reporter.phase, "starting verl")
    return session


def _watch(run: _Run, session: Session, interrupts: Interrupts) -> None:
    """Carry metrics and signs of life until the session has ended."""
    follower = MetricsFollower(run.folder.logs, run.attempt, run.folder.metrics)
    while not session.ended:
        session.poll(POLL_SECONDS)
        _take_metrics(run, follower)
        _take_output(run)
        _take_demand(run, session)
        run.verdict = run.verdict or run.watchdog.verdict()
        if interrupts.count or run.verdict:
            if "stop" not in session.orders:
                _tell(run.reporter.phase, "stopping; once more to kill")
            session.ask("stop")
        if interrupts.count > 1:
            session.ask("kill")
    _take_metrics(run, follower)


def _take_metrics(run: _Run, follower: MetricsFollower) -> None:
    for record in follower.poll():
        reading = read(record)
        run.watchdog.hear_step()
        _store(run, step=max(run.status.step, reading.step))
        _tell(run.reporter.reading, reading, run.total)


def _take_output(run: _Run) -> None:
    text = run.log.new_text()
    if not text:
        return
    run.watchdog.hear_output(text)
    phase = phase_in(text)
    if phase is not None and run.status.step <= run.attempt.from_step:
        _tell(run.reporter.phase, phase)


def _take_demand(run: _Run, session: Session) -> None:
    now = time.monotonic()
    if now - run.asked >= DEMAND_SECONDS:
        run.asked = now
        run.watchdog.hear_demand(unmet_demand(Path(session.job.scratch)))


def _store(run: _Run, **values: Any) -> None:
    """Update the status; a full disk must not end a run that could still go on."""
    run.status = changed(run.status, **values)
    with contextlib.suppress(OSError):
        run.folder.write_status(run.status)


def _settle(run: _Run, session: Session | None, interrupts: Interrupts) -> RunOutcome:
    """Say how it ended, in the status and to the person."""
    with contextlib.suppress(OSError):
        merge_attempts(run.folder.logs, run.folder.metrics)
    state, reason = _judge(run, session, interrupts)
    saved = latest_checkpoint(checkpoints_folder(run.config, run.folder))
    code = session.exit_code if session else None
    _store(run, state=state, reason=reason, exit_code=code, resumable_step=saved.step if saved else None)
    if session is not None and session.left:
        run.notes.append(f"{session.left} processes of the run could not be ended")
    _close(run, state, reason)
    return RunOutcome(state, reason, EXIT_CODES[state], run.status.step)


def _judge(run: _Run, session: Session | None, interrupts: Interrupts) -> tuple[State, str | None]:
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
    if run.verdict is not None:
        return State.FAILED, run.verdict
    if session is None or session.problem is not None:
        return State.FAILED, session.problem if session else "the run could not be started"
    return State.FAILED, explain_failure(run.log.all_text(TAIL_BYTES), code)


def _close(run: _Run, state: State, reason: str | None) -> None:
    records = read_records(run.folder.metrics)
    training, validation = curve(records, validation=False), curve(records, validation=True)
    title = "validation reward" if len(validation) > 1 else "training reward"
    plot = draw(validation if len(validation) > 1 else training, title=title)
    if records:
        note = write_image(run.folder.report_image, title=run.folder.name, training=training, validation=validation)
        run.notes += [note] if note else [f"plot: {run.folder.report_image}"]
    if state is not State.FINISHED and run.status.resumable_step:
        run.notes.append(f"--resume goes on from step {run.status.resumable_step}")
    _tell(run.reporter.close)
    _tell(run.reporter.note, closing_lines(run.folder.path, run.folder.log, state, reason, plot, run.notes))


def _tell(what: Callable[..., None], *values: object) -> None:
    """Report; a reader that has gone away does not stop training."""
    with contextlib.suppress(OSError, ValueError):
        what(*values)
