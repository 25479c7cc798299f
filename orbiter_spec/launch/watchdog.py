"""When a run that prints nothing and measures nothing is taken for dead.

verl waits for ever in several places: for a placement group that Ray cannot fit, for a weight transfer whose other side
has died. A run therefore gets limits on silence, long enough for the slowest honest step. Output and metrics both count
as life; Ray's own word that a request cannot be met does not, and shortens the wait as long as Ray repeats it.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

PENDING = re.compile(
    r"cannot be scheduled right now|cannot be scheduled because|Insufficient resources|"
    r"infeasible|No available node types can fulfill|Placement group .* (?:is )?pending"
)
PENDING_REPEAT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits in seconds; None is no limit.

    `silence_seconds`: nothing printed and nothing measured. `pending_seconds`: Ray says again and again that a request
    does not fit, and nothing is measured. `grace_seconds`: from a request to stop until everything is killed.
    """

    silence_seconds: float | None = 1800.0
    pending_seconds: float | None = 90.0
    grace_seconds: float = 10.0


@dataclass(slots=True)
class Watchdog:
    """Told of each sign of life; asked now and then for the reason to end the run."""

    timeouts: Timeouts
    heard: float = field(default_factory=time.monotonic)
    pending_since: float | None = None
    pending_last: float = 0.0
    pending_line: str = ""

    def hear_output(self, text: str, now: float | None = None) -> None:
        """verl or Ray printed `text`."""
        now = time.monotonic() if now is None else now
        lines = text.splitlines()
        complaints = [line for line in lines if PENDING.search(line)]
        if complaints:
            self._hear_complaint(complaints[-1], now)
        if any(line.strip() for line in lines if line not in complaints):
            self.heard = now

    def _hear_complaint(self, line: str, now: float) -> None:
        if self.pending_since is None or now - self.pending_last > PENDING_REPEAT_SECONDS:
            self.pending_since = now
        self.pending_last, self.pending_line = now, line.strip()

    def hear_demand(self, unmet: str | None, now: float | None = None) -> None:
        """Ray says what waits for resources: nothing (empty), or it has not said (None)."""
        if unmet:
            self._hear_complaint(unmet, time.monotonic() if now is None else now)
        elif unmet is not None:
            self.pending_since = None

    def hear_step(self, now: float | None = None) -> None:
        """A step was measured: whatever Ray waited for has come."""
        self.heard = time.monotonic() if now is None else now
        self.pending_since = None

    def verdict(self, now: float | None = None) -> str | None:
        """Why the run has to end, or None."""
        now = time.monotonic() if now is None else now
        if self._is_pending(now):
            limit = self.timeouts.pending_seconds
            return f"Ray could not place what verl asked for within {limit:g} s: {self.pending_line[:200]}"
        silence = self.timeouts.silence_seconds
        if silence is not None and now - self.heard > silence:
            return f"no output and no step for {silence:g} s"
        return None

    def _is_pending(self, now: float) -> bool:
        limit = self.timeouts.pending_seconds
        if limit is None or self.pending_since is None:
            return False
        return now - self.pending_last <= PENDING_REPEAT_SECONDS and now - self.pending_since > limit
