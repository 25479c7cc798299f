"""Follow a submitted run to its end, through cuts of the connection, and say how it ended.

The cluster is believed about the run, the client only about the cluster: while nobody answers the run goes on there,
and after `PATIENCE_SECONDS` the client says so and leaves. A job that Ray no longer knows is lost: its head was started
anew. Where the program on the cluster could not say why it ended, Ray's word about the job is the reason.
"""

from __future__ import annotations

import re
import signal
import time
from dataclasses import dataclass

from orbiter_spec.launch.cluster.record import JobRecord, Submission
from orbiter_spec.launch.cluster.story import Story
from orbiter_spec.launch.job_server import ClusterError, JobServer, JobState, UnreachableError
from orbiter_spec.launch.progress import Reporter
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.status import State, Status, new_status

PATIENCE_SECONDS = 600.0
RETRY_SECONDS = 2.0
LOST = "the cluster no longer knows the job: its head was started anew"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a submission ended. `told` is false where the program on the cluster had no chance to say so itself."""

    state: State
    reason: str | None
    told: bool
    exit_code: int | None = None
    step: int | None = None
    resumable_step: int | None = None


def cluster_status(address: str, **values: object) -> Status:
    """A new status that the cluster answers for, not a process of this machine."""
    return new_status(**{"host": address, "pid": None, "pid_started": None, **values})


def make_story(
    folder: RunFolder, record: JobRecord, submission: Submission, status: Status, reporter: Reporter
) -> Story:
    """A story from its first line."""
    story = Story(folder, record, submission, status, reporter)
    story.begin()
    return story


def follow(story: Story, server: JobServer, patience_seconds: float = PATIENCE_SECONDS) -> Ending:
    """Tell the job's log until it ends. Raises KeyboardInterrupt when the person has seen enough."""
    id = story.submission.id
    silent_since: float | None = None
    while True:
        try:
            job = server.job(id)
            if job is None:
                return Ending(State.FAILED, LOST, told=False)
            silent_since = None
            if job.status == "PENDING":
                time.sleep(RETRY_SECONDS / 4)
                continue
            for text in server.tail(id):
                story.hear(text)
            job = server.job(id)
            if job is not None and job.has_ended:
                return ending(story, job)
        except UnreachableError as error:
            now = time.monotonic()
            if silent_since is None:
                silent_since = now
                story.reporter.phase(f"{error}; the run goes on there, waiting")
            if now - silent_since > patience_seconds:
                return Ending(story.status.state, f"{error} for {patience_seconds:g} s", told=False)
        except ClusterError as error:
            gone = server_forgot(server, id)
            if gone:
                return Ending(State.FAILED, LOST, told=False)
            if silent_since is None:
                silent_since = time.monotonic()
            if time.monotonic() - silent_since > patience_seconds:
                return Ending(story.status.state, str(error), told=False)
        time.sleep(RETRY_SECONDS)
        story.reconnect()


def server_forgot(server: JobServer, id: str) -> bool:
    """True when the server answers and has no such job."""
    try:
        return server.job(id) is None
    except ClusterError:
        return False


def tell_once(story: Story, server: JobServer, job: JobState) -> Ending | None:
    """Tell what the log holds by now; the ending where there is one."""
    story.hear(server.logs(job.id))
    return ending(story, job) if job.has_ended else None


def ending(story: Story, job: JobState) -> Ending:
    """How a job that is over has ended."""
    said = story.ended
    if job.status == "STOPPED":
        saved = said["resumable_step"] if said else story.status.resumable_step
        return Ending(State.INTERRUPTED, "stopped on the cluster", True, job.exit_code, story.status.step, saved)
    if said is not None:
        step, saved = max(int(said["step"]), story.status.step), said["resumable_step"]
        return Ending(State(said["state"]), said["reason"], True, said["code"], step, saved)
    return Ending(State.FAILED, job_reason(job), told=False, exit_code=job.exit_code)


def job_reason(job: JobState) -> str:
    """Why a job failed that could not say so itself."""
    code = job.exit_code
    killed = re.search(r"exit code (-\d+)", job.message)
    if killed or (code is not None and code < 0):
        number = int(killed[1]) if killed else int(code or 0)
        try:
            name = signal.Signals(-number).name
        except ValueError:
            name = f"signal {-number}"
        return f"the run's driver on the cluster was killed by {name}"
    first = job.message.strip().splitlines()[0] if job.message.strip() else "Ray gives no reason"
    return f"Ray ended the job: {first[:240]}"
