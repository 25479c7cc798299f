"""Train on this machine: verl's entry point on a compiled folder, watched from start to end.

Order: is the folder free, is the machine ready, where to go on; then the attempt itself (`attempt.py`). Every way out
writes the status; a launcher that is killed leaves that to the supervisor, and a status left `running` by both is read
as a failure.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from orbiter_spec.diagnostics import Diagnostic, Report
from orbiter_spec.launch.attempt import EXIT_CODES, Run, RunOutcome, run_attempt, tell
from orbiter_spec.launch.checkpoints import CheckpointError
from orbiter_spec.launch.command import verl_command
from orbiter_spec.launch.folder_lock import locked
from orbiter_spec.launch.log_file import LogFollower
from orbiter_spec.launch.metrics import merge_attempts, next_attempt
from orbiter_spec.launch.progress import Reporter, Silent, closing_lines
from orbiter_spec.launch.resume_check import refusal, remember, starting_point, told
from orbiter_spec.launch.run_folder import STOP_FILE, RunFolder
from orbiter_spec.launch.secrets import SecretMissingError, passed_environment, resolve_secrets
from orbiter_spec.launch.settings import LaunchSettings, read_settings
from orbiter_spec.launch.site import check_site
from orbiter_spec.launch.status import PROCESS_DIED, State, Status, changed, new_status
from orbiter_spec.launch.verl_config import (
    binding_overrides,
    planned_steps,
    raised_epochs,
    read_verl_config,
    resume_overrides,
    total_steps,
)
from orbiter_spec.launch.watchdog import Timeouts, Watchdog

__all__ = ["Reporter", "RunOutcome", "Timeouts", "run_local"]

RETRY_SECONDS = 2.0
CommandOf = Callable[[RunFolder, Sequence[str]], list[str]]


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
        with locked(folder) as free:
            refusal = None if free else "the run is going on already"
            refusal = refusal or _refuse(folder, resume)
            if refusal:
                return _refused(reporter, refusal)
            with _own_errors_noted(folder):
                return _attempts(folder, reporter, resume, list(overrides), timeouts or Timeouts(), command_of)
    except KeyboardInterrupt:
        return _interrupted_early(folder, reporter)
    finally:
        with contextlib.suppress(OSError, ValueError):
            reporter.close()


def _interrupted_early(folder: RunFolder, reporter: Reporter) -> RunOutcome:
    """Stopped by SIGINT before anything was started."""
    reason = f"stopped by {signal.SIGINT.name}"
    folder.write_status(changed(folder.read_status() or new_status(), state=State.INTERRUPTED, reason=reason))
    tell(reporter.note, f"not started: {reason}")
    return RunOutcome(State.INTERRUPTED, reason, EXIT_CODES[State.INTERRUPTED], 0)


def _refused(reporter: Reporter, reason: str) -> RunOutcome:
    tell(reporter.note, f"not started: {reason}")
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


def _refuse(folder: RunFolder, resume: bool) -> str | None:
    status = folder.read_status()
    if status is None:
        return None
    if status.state.is_active and status.pid != os.getpid():
        return f"the run is going on already, on {status.host} in process {status.pid}"
    if not resume and status.state is not State.PREPARING:
        return "the folder holds a run; go on with it by --resume, or start a new one"
    return None


def _attempts(
    folder: RunFolder,
    reporter: Reporter,
    resume: bool,
    overrides: list[str],
    timeouts: Timeouts,
    command_of: CommandOf,
) -> RunOutcome:
    """Attempts, until one ends well or `run.retries` are used up."""
    (folder.logs / STOP_FILE).unlink(missing_ok=True)
    try:
        settings = read_settings(folder.compiled)
        secrets = resolve_secrets(settings.secrets)
    except (ValueError, SecretMissingError) as error:
        return _end_early(folder, reporter, folder.read_status() or new_status(), str(error))
    retries = settings.retries
    while True:
        outcome = _run(folder, reporter, resume, overrides, timeouts, command_of, settings, secrets, retries)
        if not outcome.again:
            return outcome
        retries, resume = retries - 1, True
        time.sleep(RETRY_SECONDS)


def _run(
    folder: RunFolder,
    reporter: Reporter,
    resume: bool,
    overrides: list[str],
    timeouts: Timeouts,
    command_of: CommandOf,
    settings: LaunchSettings,
    secrets: dict[str, str],
    retries: int,
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
    try:
        start = starting_point(folder, config, resume)
    except CheckpointError as error:
        return _end_early(folder, reporter, status, str(error))
    if start.changes:
        tell(reporter.note, told(start))
    if refused := refusal(start):
        return _end_early(folder, reporter, status, refused)
    remember(folder.path, folder.compiled)
    planned, per_epoch = planned_steps(folder.compiled)
    total = total_steps(config, overrides, planned)
    checkpoint, from_step = start.checkpoint, start.step
    if checkpoint and total is not None and checkpoint.step >= total:
        return _nothing_left(folder, reporter, status, checkpoint.step, total)
    if resume or checkpoint:
        tell(reporter.note, f"going on from step {from_step}" if checkpoint else "no whole checkpoint: starting over")
    all_overrides = [
        *binding_overrides(config, folder),
        *(resume_overrides(checkpoint.path if checkpoint else None) if resume or checkpoint else []),
        *raised_epochs(config, overrides, total, per_epoch),
        *overrides,
    ]
    run = Run(
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
        retries,
        passed_environment(settings.env),
        secrets,
        Watchdog(timeouts),
    )
    return run_attempt(run)


def _end_early(
    folder: RunFolder, reporter: Reporter, status: Status, reason: str, problems: tuple[Diagnostic, ...] = ()
) -> RunOutcome:
    folder.write_status(changed(status, state=State.FAILED, reason=reason))
    tell(reporter.note, closing_lines(folder.path, folder.log, "failed", reason, "", []))
    return RunOutcome(State.FAILED, reason, EXIT_CODES[State.FAILED], status.step, problems)


def _nothing_left(folder: RunFolder, reporter: Reporter, status: Status, step: int, total: int) -> RunOutcome:
    done = changed(status, state=State.FINISHED, step=step, total_steps=total, exit_code=0, resumable_step=step)
    folder.write_status(done)
    merge_attempts(folder.logs, folder.metrics)
    tell(reporter.note, f"nothing left to do: step {step} of {total} is saved; raise trainer.total_training_steps")
    return RunOutcome(State.FINISHED, None, 0, step)
