"""The job's log as the run folder's log, metrics and status.

The log is told from its first line each time somebody follows, and each time it gives the same files: what an earlier
follower wrote of this submission is replaced. So nothing is lost when a client dies, and none is needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from orbiter_spec.launch.attempt import tell
from orbiter_spec.launch.cluster.record import JobRecord, Submission, write_record
from orbiter_spec.launch.cluster.task import parse_event
from orbiter_spec.launch.log_file import PHASES, phase_in
from orbiter_spec.launch.metrics import Attempt, MetricsFollower, attempts
from orbiter_spec.launch.progress import Reporter
from orbiter_spec.launch.reading import read
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.status import State, Status, changed


@dataclass(slots=True)
class Story:
    """One submission, told into `folder`. `ended` is the program's last word, once it was said."""

    folder: RunFolder
    record: JobRecord
    submission: Submission
    status: Status
    reporter: Reporter
    ended: dict[str, Any] | None = None
    _told: int = 0
    _skip: int = 0
    _line: str = ""
    _metrics: MetricsFollower | None = None
    _attempt: Attempt | None = None
    _phase: int = 0

    def begin(self) -> None:
        """Forget what an earlier follower wrote of this submission."""
        self.folder.logs.mkdir(parents=True, exist_ok=True)
        self.folder.log.touch()
        with self.folder.log.open("r+b") as log:
            log.truncate(self.submission.log_bytes)
        for attempt in attempts(self.folder.logs):
            if attempt.number >= self.submission.attempt:
                attempt.path.unlink(missing_ok=True)

    def reconnect(self) -> None:
        """The log comes from its beginning once more."""
        self._skip = self._told

    def hear(self, text: str) -> None:
        """A piece of the log."""
        skipped = min(self._skip, len(text))
        self._skip -= skipped
        text = text[skipped:]
        self._told += len(text)
        *lines, self._line = (self._line + text).split("\n")
        plain: list[str] = []
        for line in lines:
            event = parse_event(line)
            if event is None:
                plain.append(line + "\n")
            else:
                self._take(event)
        if plain:
            self._keep("".join(plain))

    def _keep(self, text: str) -> None:
        with self.folder.log.open("a", encoding="utf-8") as log:
            log.write(text)
        phase = phase_in(text, self._phase)
        if phase > self._phase and (self._attempt is None or self.status.step <= self._attempt.from_step):
            tell(self.reporter.phase, PHASES[phase - 1][1])
        self._phase = phase

    def _take(self, event: Mapping[str, Any]) -> None:
        kind = event["event"]
        if kind == "placed":
            self.record = replace(self.record, folder=event["folder"], shared=bool(event["shared"]))
            write_record(self.folder, self.record)
        elif kind == "attempt":
            self._begin_attempt(int(event["number"]), int(event["from_step"]))
        elif kind == "metrics":
            self._measure(event["record"])
        elif kind == "saved":
            self.store(resumable_step=int(event["step"]))
        elif kind == "failed":
            self.store(resumable_step=event["resumable_step"])
            again = f"going on from step {event['resumable_step'] or 0}"
            tell(self.reporter.note, f"attempt {self.status.attempt} failed: {event['reason']}; {again}")
        elif kind == "ended":
            self.ended = dict(event)

    def _begin_attempt(self, number: int, from_step: int) -> None:
        path = self.folder.logs / f"metrics-{number:02d}-from-{from_step:06d}.jsonl"
        path.write_text("", encoding="utf-8")
        self._attempt, self._phase = Attempt(number, from_step, path), 0
        self._metrics = MetricsFollower(self.folder.logs, self._attempt, self.folder.metrics)
        self.store(state=State.RUNNING, attempt=number, step=from_step)
        tell(self.reporter.phase, "starting verl on the cluster")

    def _measure(self, record: Mapping[str, Any]) -> None:
        if self._metrics is None or self._attempt is None:
            return
        with self._attempt.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        for one in self._metrics.poll():
            reading = read(one)
            self.store(step=max(self.status.step, reading.step))
            tell(self.reporter.reading, reading, self.status.total_steps)

    def store(self, **values: Any) -> None:
        """Change the status."""
        self.status = changed(self.status, **values)
        self.folder.write_status(self.status)
