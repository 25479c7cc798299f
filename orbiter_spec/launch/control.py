"""`status`, `logs`, `stop`: what can be done with a run by its folder alone, from any terminal.

A run on a cluster is asked for there, and what it says is written into the folder. A run of this machine is known by
the process that answers for it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from orbiter_spec.launch.folder_lock import locked
from orbiter_spec.launch.processes import is_alive
from orbiter_spec.launch.progress import Silent
from orbiter_spec.launch.run_folder import STOP_FILE, RunFolder
from orbiter_spec.launch.status import State, Status

STOP_SECONDS = 60.0
POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found or done, in one line, and whether it worked."""

    text: str
    ok: bool = True


def refresh(folder: RunFolder) -> tuple[Status | None, str | None]:
    """The run's status, brought up to date from its cluster where it has one; and why that could not be done."""
    from orbiter_spec.launch.cluster.follow import LOST, Ending, make_story, tell_once
    from orbiter_spec.launch.cluster.record import read_record
    from orbiter_spec.launch.cluster.run import settle
    from orbiter_spec.launch.job_server import ClusterError, JobServer

    record, status = read_record(folder), folder.read_status()
    if record is None or record.last is None or status is None:
        return status, None
    with locked(folder) as free:
        if not free:
            return folder.read_status(), None
        try:
            server = JobServer(record.address)
            job = server.job(record.last.id)
            if job is None:
                if status.state.is_active:
                    settle(folder, Silent(), status, Ending(State.FAILED, LOST, told=False))
                return folder.read_status(), None
            story = make_story(folder, record, record.last, status, Silent())
            end = tell_once(story, server, job)
            if end is not None:
                settle(folder, Silent(), story.status, end)
        except ClusterError as error:
            return folder.read_status(), str(error)
    return folder.read_status(), None


def stop(folder: RunFolder, seconds: float = STOP_SECONDS) -> Answer:
    """Ask the run to stop and wait until it has."""
    from orbiter_spec.launch.cluster.record import read_record

    status = folder.read_status()
    if status is None:
        return Answer("the folder holds no run", ok=False)
    return _stop_job(folder, seconds) if read_record(folder) else _stop_process(folder, status, seconds)


def _stop_job(folder: RunFolder, seconds: float) -> Answer:
    from orbiter_spec.launch.cluster.record import read_record
    from orbiter_spec.launch.job_server import ClusterError, JobServer

    record = read_record(folder)
    if record is None or record.last is None:
        return Answer("the run was never submitted", ok=False)
    id = record.last.id
    try:
        server = JobServer(record.address)
        job = server.job(id)
        if job is None or job.has_ended:
            refresh(folder)
            return Answer(f"the run is not going on: {_word(folder)}")
        server.stop(id)
        if not _wait(lambda: (found := server.job(id)) is None or found.has_ended, seconds):
            return Answer(f"asked to stop, and still at work after {seconds:g} s", ok=False)
    except ClusterError as error:
        return Answer(str(error), ok=False)
    _wait(lambda: not _active(refresh(folder)[0]), 10.0)
    return Answer(f"stopped: {_word(folder)}")


def _stop_process(folder: RunFolder, status: Status, seconds: float) -> Answer:
    if not status.state.is_active:
        return Answer(f"the run is not going on: {_word(folder)}")
    if status.host != socket.gethostname() or status.pid is None:
        return Answer(f"the run goes on on {status.host}; stop it there", ok=False)
    (folder.logs / STOP_FILE).touch()
    pid, started = status.pid, status.pid_started
    if status.state is State.RUNNING:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    if not _wait(lambda: not is_alive(pid, started) and not _active(folder.read_status()), seconds):
        return Answer(f"asked to stop, and still at work after {seconds:g} s", ok=False)
    return Answer(f"stopped: {_word(folder)}")


def _active(status: Status | None) -> bool:
    return status is not None and status.state.is_active


def _word(folder: RunFolder) -> str:
    status = folder.read_status()
    if status is None:
        return "no run"
    return f"{status.state} at step {status.step}" + (f" ({status.reason})" if status.reason else "")


def _wait(done: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(POLL_SECONDS)
    return True


def log_text(folder: RunFolder, *, follow: bool) -> Iterator[str]:
    """What verl printed; with `follow` until the run has ended. Raises ClusterError."""
    from orbiter_spec.launch.cluster.record import read_record

    record = read_record(folder)
    return _job_log(folder, follow) if record and record.last else _file_log(folder, follow)


def _job_log(folder: RunFolder, follow: bool) -> Iterator[str]:
    from orbiter_spec.launch.cluster.record import read_record
    from orbiter_spec.launch.cluster.task import MARK
    from orbiter_spec.launch.job_server import JobServer

    record = read_record(folder)
    assert record is not None and record.last is not None
    server, begun = JobServer(record.address), ""
    if server.job(record.last.id) is None:
        yield from _file_log(folder, follow=False)
        return
    for text in server.tail(record.last.id) if follow else iter((server.logs(record.last.id),)):
        *lines, begun = (begun + text).split("\n")
        yield "".join(line + "\n" for line in lines if not line.startswith(MARK))


def _file_log(folder: RunFolder, follow: bool) -> Iterator[str]:
    try:
        with folder.log.open(encoding="utf-8", errors="replace") as file:
            while True:
                active = _active(folder.read_status())
                text = file.read()
                yield text
                if not follow or (not text and not active):
                    return
                time.sleep(POLL_SECONDS if not text else 0)
    except FileNotFoundError:
        return
