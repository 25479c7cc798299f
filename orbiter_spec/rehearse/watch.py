"""Where the seconds of a rehearsal go: ours (checks, weights, probes) and verl's, phase by phase.

verl's phases are those that the run itself tells its reporter, so the watch listens in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orbiter_spec.launch.progress import Reporter
    from orbiter_spec.launch.reading import Reading
    from orbiter_spec.launch.run_folder import RunFolder

CHECKS, WEIGHTS, PROBES, ENDING = "checks", "weights of the small model", "probes and known answers", "ending"
OURS = (CHECKS, WEIGHTS, PROBES)
STEPS = "steps, validations and the checkpoint"


class Watch:
    """Seconds by phase, in order; passes on what it hears as a `Reporter`."""

    def __init__(self, reporter: Reporter | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds: dict[str, float] = {}
        self._reporter, self._clock = reporter, clock
        self._phase, self._since = "", clock()

    def lap(self, phase: str) -> None:
        """`phase` begins; what went on before has ended."""
        now = self._clock()
        if self._phase:
            self.seconds[self._phase] = self.seconds.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = phase, now

    @property
    def ours(self) -> float:
        """Seconds before verl was started."""
        return sum(self.seconds.get(phase, 0.0) for phase in OURS)

    @property
    def total(self) -> float:
        """All seconds up to the last lap."""
        return sum(self.seconds.values())

    def begin(self, folder: RunFolder) -> None:
        """A run starts."""
        if self._reporter is not None:
            self._reporter.begin(folder)

    def phase(self, text: str) -> None:
        """Something that takes more than a second begins."""
        self.lap(text)
        if self._reporter is not None:
            self._reporter.phase(text)

    def reading(self, reading: Reading, total_steps: int | None) -> None:
        """A step or a validation was measured."""
        self.lap(STEPS)
        if self._reporter is not None:
            self._reporter.reading(reading, total_steps)

    def note(self, text: str) -> None:
        """A line that stays."""
        if self._reporter is not None:
            self._reporter.note(text)

    def close(self) -> None:
        """The run is over."""
        self.lap("")
        if self._reporter is not None:
            self._reporter.close()
