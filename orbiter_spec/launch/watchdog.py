"""When a run that prints nothing and measures nothing is taken for dead.

verl waits for ever in several places: for a placement group that Ray cannot fit, for a weight transfer whose other side
has died. A run therefore gets limits on silence, long enough for the slowest honest step. Output and metrics both count
as life; Ray's own complaint that a request cannot be met does not, and shortens the wait.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

PENDING = re.compile(
    r"cannot be scheduled right now|cannot be scheduled because|Insufficient resources|"
    r"infeasible|No available node types can fulfill|Placement group .* (?:is )?pending"
)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits in seconds; None is no limit.

    `silence_seconds`: nothing printed and nothing measured. `pending_seconds`: Ray says that a request does not fit,
    and since then nothing was measured. `grace_seconds`: from a request to stop until everything is killed.
    """

    silence_seconds: float | None = 1800.0
    pending_seconds: float | None = 120.0
    grace_seconds: float = 10.0


@dataclass(slots=True)
class Watchdog:
    """Told of each sign of life; asked now and then for the reason to end the run."""

    timeouts: Timeouts
    heard: float = field(default_factory=time.monotonic)
    pending_since: float | None = None
    pending_line: str = ""

    def hear_output(self, text: str, now: float | None = None) -> None:
        """verl or Ray printed `text`."""
        now = time.monotonic() if now is None else now
        complaints = [line for line in text.splitlines() if PENDING.search(line)]
        if complaints and self.pending_since is None:
            self.pending_since = now
        if complaints:
            self.pending_line = complaints[-1].strip()
        elif text.strip():
            self.heard = now

    def hear_step(self, now: float | None = None) -> None:
        """A step was measured: whatever Ray waited for has come."""
        self.heard = time.monotonic() if now is None else now
        self.pending_since = None

    def verdict(self, now: float | None = None) -> str | None:
        """Why the run has to end, or None."""
        now = time.monotonic() if now is None else now
        pending, silence = self.timeouts.pending_seconds, self.timeouts.silence_seconds
        if pending is not None and self.pending_since is not None and now - self.pending_since > pending:
            return f"Ray could not place what verl asked for within {pending:g} s: {self.pending_line[:200]}"
        if silence is not None and now - self.heard > silence:
            return f"no output and no step for {silence:g} s"
        return None
