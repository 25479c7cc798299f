"""Train on a Ray cluster: submit once, follow, and go on from the last whole checkpoint where that was asked for.

Failures of verl are answered on the cluster itself, by the program there. What takes that program along (it was
killed, its node or the head was lost) is answered here, as long as somebody follows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from orbiter_spec.diagnostics import Diagnostic, Report
from orbiter_spec.launch.attempt import EXIT_CODES, RunOutcome, tell
from orbiter_spec.launch.checkpoints import CheckpointError
from orbiter_spec.launch.cluster.follow import PATIENCE_SECONDS, Ending, cluster_status, follow, make_story
from orbiter_spec.launch.cluster.parcel import ParcelError
from orbiter_spec.launch.cluster.record import JobRecord, new_record, read_record
from orbiter_spec.launch.cluster.submit import as_finding, check_cluster, submit
from orbiter_spec.launch.folder_lock import locked
from orbiter_spec.launch.job_server import ClusterError, JobServer, UnreachableError
from orbiter_spec.launch.metrics import merge_attempts
from orbiter_spec.launch.progress import Reporter, Silent, closing_lines
from orbiter_spec.launch.resume_check import refusal, remember, starting_point, told
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.settings import LaunchSettings, read_settings
from orbiter_spec.launch.status import State, Status, changed
from orbiter_spec.launch.verl_config import VerlConfig, planned_steps, read_verl_config, total_steps

DETACHED = 0
RESUBMIT_SECONDS = 3.0
BUSY_SECONDS = 15.0


def run_on_cluster(
    folder: RunFolder,
    *,
    reporter: Reporter | None = None,
    resume: bool = False,
    detach: bool = False,
    overrides: Sequence[str] = (),
    patience_seconds: float = PATIENCE_SECONDS,
) -> RunOutcome:
    """Submit `folder` to the cluster that its `launch.json` names, and wait for the end unless `detach`.

    A run that is going on is followed, not started again. The reporter is closed.
    """
    reporter = reporter or Silent()
    try:
        with locked(folder) as free:
            if not free:
                return _refused(reporter, Diagnostic("ORB535", "the run is followed by another process already"))
            return _run(folder, reporter, resume, detach, list(overrides), patience_seconds)
    finally:
        tell(reporter.close)


def _run(
    folder: RunFolder, reporter: Reporter, resume: bool, detach: bool, overrides: list[str], patience: float
) -> RunOutcome:
    try:
        settings, config = read_settings(folder.compiled), read_verl_config(folder.compiled)
    except (OSError, ValueError) as error:
        return _refused(reporter, Diagnostic("ORB534", f"no compiled configuration: {error}"))
    address = settings.cluster.address or ""
    record = read_record(folder) or new_record(address)
    try:
        server = JobServer(record.address or address)
        going_on = _going_on(server, record)
        if not going_on:
            refused = _may_start(folder, record, resume) or _does_not_fit(folder, config, reporter, resume)
            problems = [refused] if refused else _room(server, folder)
            if not Report.of(problems).ok:
                return _refused(reporter, *problems)
        record, status = _start(server, folder, record, config, settings, reporter, going_on, resume, overrides)
    except (ClusterError, ParcelError, OSError, ValueError) as error:
        return _refused(reporter, as_finding(error, address))
    if detach:
        tell(reporter.note, f"submitted as {record.submissions[-1].id}\nfollow it: orbiter-spec logs -f {folder.path}")
        return RunOutcome(status.state, None, DETACHED, status.step)
    return _follow(server, folder, record, config, settings, status, reporter, overrides, patience)


def _going_on(server: JobServer, record: JobRecord) -> bool:
    """Whether the newest submission is at work."""
    job = server.job(record.last.id) if record.last else None
    return job is not None and not job.has_ended


def _room(server: JobServer, folder: RunFolder) -> list[Diagnostic]:
    """What stands in the way on the cluster; Ray counts what a job gave back only after a while."""
    end = time.monotonic() + BUSY_SECONDS
    while (problems := check_cluster(server, folder.compiled)) and problems[0].id == "ORB531":
        if time.monotonic() > end:
            break
        time.sleep(RESUBMIT_SECONDS)
    return problems


def _may_start(folder: RunFolder, record: JobRecord, resume: bool) -> Diagnostic | None:
    if record.last is None or resume:
        return None
    return Diagnostic(
        "ORB536", "the run was submitted before", help=f"go on with it: orbiter-spec resume {folder.path}"
    )


def _does_not_fit(folder: RunFolder, config: VerlConfig, reporter: Reporter, resume: bool) -> Diagnostic | None:
    """Say what changed since the checkpoint was made, and refuse one that cannot be loaded.

    Checkpoints that only the cluster sees are looked at there, where nothing is known of their configuration.
    """
    try:
        start = starting_point(folder, config, resume)
    except CheckpointError as error:
        tell(reporter.note, f"{error} from here; the cluster will look")
        return None
    if start.changes:
        tell(reporter.note, told(start))
    reason = refusal(start)
    return Diagnostic("ORB539", reason, help="start a new run, or put the configuration back") if reason else None


def _start(
    server: JobServer,
    folder: RunFolder,
    record: JobRecord,
    config: VerlConfig,
    settings: LaunchSettings,
    reporter: Reporter,
    going_on: bool,
    resume: bool,
    overrides: list[str],
) -> tuple[JobRecord, Status]:
    before = folder.read_status()
    if going_on and before is not None:
        tell(reporter.note, "the run is going on already; following it")
        return record, before
    attempt = before.attempt + 1 if before and record.last else 1
    total = total_steps(config, overrides, planned_steps(folder.compiled)[0])
    status = cluster_status(record.address, attempt=attempt, total_steps=total)
    if before is not None and record.last:
        status = changed(status, started_at=before.started_at, step=before.step, resumable_step=before.resumable_step)
    folder.write_status(status)
    remember(folder.path, folder.compiled)
    record, started = submit(
        server,
        folder,
        record,
        config,
        settings,
        attempt=attempt,
        retries=settings.retries,
        resume=resume or attempt > 1,
        overrides=overrides,
    )
    if not started:
        tell(reporter.note, "the cluster has this run already; following it")
    return record, status


def _follow(
    server: JobServer,
    folder: RunFolder,
    record: JobRecord,
    config: VerlConfig,
    settings: LaunchSettings,
    status: Status,
    reporter: Reporter,
    overrides: list[str],
    patience: float,
) -> RunOutcome:
    first = status.attempt
    while True:
        assert record.last is not None
        story = make_story(folder, record, record.last, status, reporter)
        try:
            end = follow(story, server, patience)
        except KeyboardInterrupt:
            return _leave(folder, reporter, story.status)
        record, status = story.record, story.status
        left = settings.retries - (status.attempt - first)
        if end.state is not State.FAILED or end.told or left <= 0:
            return settle(folder, reporter, status, end)
        tell(reporter.note, f"attempt {status.attempt} failed: {end.reason}; submitting it again")
        again = _resubmit(folder, record, config, settings, status, left - 1, overrides, patience)
        if isinstance(again, str):
            return settle(folder, reporter, status, Ending(State.FAILED, f"{end.reason}; {again}", told=False))
        server, record, status = again


def _resubmit(
    folder: RunFolder,
    record: JobRecord,
    config: VerlConfig,
    settings: LaunchSettings,
    status: Status,
    retries: int,
    overrides: list[str],
    patience: float,
) -> tuple[JobServer, JobRecord, Status] | str:
    """Submit the next attempt as soon as the cluster can take it; otherwise why it could not within `patience`."""
    end = time.monotonic() + patience
    while True:
        try:
            server = JobServer(record.address)
            problems = check_cluster(server, folder.compiled)
            if not problems:
                attempt = status.attempt + 1
                status = changed(status, attempt=attempt)
                folder.write_status(status)
                record, _ = submit(
                    server,
                    folder,
                    record,
                    config,
                    settings,
                    attempt=attempt,
                    retries=retries,
                    resume=True,
                    overrides=overrides,
                )
                return server, record, status
            why = problems[0].message
        except UnreachableError as error:
            why = str(error)
        except (ClusterError, ParcelError, OSError, ValueError) as error:
            return str(error)
        if time.monotonic() > end:
            return why
        time.sleep(RESUBMIT_SECONDS)


def settle(folder: RunFolder, reporter: Reporter, status: Status, end: Ending) -> RunOutcome:
    """Write how it ended, and say it."""
    merge_attempts(folder.logs, folder.metrics)
    state, reason = end.state, end.reason
    step = status.step if end.step is None else end.step
    saved = status.resumable_step if end.resumable_step is None else end.resumable_step
    if state is State.FINISHED and status.total_steps is not None and step < status.total_steps:
        reason = f"verl ended after step {step} of {status.total_steps}"
    status = changed(status, state=state, reason=reason, step=step, resumable_step=saved, exit_code=end.exit_code)
    folder.write_status(status)
    notes = [f"orbiter-spec resume {folder.path} goes on from step {saved}"] if saved and state is State.FAILED else []
    tell(reporter.close)
    tell(reporter.note, closing_lines(folder.path, folder.log, state, reason, "", notes))
    return RunOutcome(state, reason, EXIT_CODES.get(state, 3), step)


def _leave(folder: RunFolder, reporter: Reporter, status: Status) -> RunOutcome:
    """Ctrl-C ends following, not the run."""
    tell(reporter.close)
    tell(reporter.note, f"\nthe run goes on; orbiter-spec stop {folder.path} ends it")
    return RunOutcome(status.state, None, EXIT_CODES[State.INTERRUPTED], status.step)


def _refused(reporter: Reporter, *problems: Diagnostic) -> RunOutcome:
    reason = "; ".join(problem.message for problem in problems)
    return RunOutcome(State.FAILED, reason, EXIT_CODES[State.FAILED], 0, tuple(problems))
