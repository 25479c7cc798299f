"""The launcher's end of the supervisor: start it, hear from it, stop it, and clean up should it be killed itself."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orbiter_spec.launch.scratch import add_owner, remove_scratch
from orbiter_spec.launch.supervisor import Job

SUPERVISOR_DIED = "the process that supervises the run was killed"
ABANDON_SECONDS = 30.0


@dataclass(slots=True)
class Session:
    """A running supervisor. `ended` turns true once, with `exit_code` (negative: signal) or `problem`."""

    job: Job
    process: subprocess.Popen[bytes]
    ended: bool = False
    exit_code: int | None = None
    problem: str | None = None
    left: int = 0
    _inbox: bytes = b""
    orders: set[str] = field(default_factory=set)

    @classmethod
    def start(cls, job: Job, environment: Mapping[str, str]) -> Session:
        """Start `job` under a supervisor in a session of its own, out of reach of the terminal's Ctrl-C."""
        command = [sys.executable, "-m", "orbiter_spec.launch.supervisor", job.to_json()]
        with open(job.log, "ab", buffering=0) as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=dict(environment),
                start_new_session=True,
            )
        add_owner(Path(job.scratch), process.pid)
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        return cls(job, process)

    def poll(self, seconds: float) -> None:
        """Wait up to `seconds` for news."""
        assert self.process.stdout is not None
        if self.ended or not select.select([self.process.stdout], [], [], seconds)[0]:
            return
        data = os.read(self.process.stdout.fileno(), 65536)
        if not data:
            self._lost()
        *lines, self._inbox = (self._inbox + data).split(b"\n")
        for line in lines:
            self._take(json.loads(line))

    def _take(self, event: dict[str, Any]) -> None:
        if event["event"] == "refused":
            self.ended, self.problem = True, f"verl could not be started: {event['reason']}"
        if event["event"] == "ended":
            self.ended, self.exit_code, self.left = True, event["code"], event["left"]
        if self.ended:
            self._close()

    def _close(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def ask(self, order: str) -> None:
        """Send `stop` or `kill`, each at most once."""
        if order in self.orders or self.ended or self.process.stdin is None:
            return
        self.orders.add(order)
        with contextlib.suppress(OSError):
            self.process.stdin.write(order.encode() + b"\n")
            self.process.stdin.flush()

    def _lost(self) -> None:
        """The supervisor is gone without a word: end what carries the run's mark, and remove its folder."""
        self.ended, self.problem = True, self.problem or SUPERVISOR_DIED
        self.process.wait()
        self.left = remove_scratch(Path(self.job.scratch))
        self._close()

    def abandon(self) -> None:
        """End everything now, whatever state it is in."""
        self.ask("kill")
        end = time.monotonic() + ABANDON_SECONDS
        while not self.ended and time.monotonic() < end:
            self.poll(0.2)
