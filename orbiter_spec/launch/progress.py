"""What a person sees while a run goes on.

A terminal gets a live view (`live.py`); anything else gets one plain line a step, without colour or control characters,
that `grep` understands. Both are told the same things, through `Reporter`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Protocol

from orbiter_spec.launch.reading import Reading
from orbiter_spec.launch.run_folder import RunFolder

Clock = Callable[[], float]


class Reporter(Protocol):
    """Told of what happens in a run."""

    def begin(self, folder: RunFolder) -> None:
        """A run starts on this machine, in `folder`."""

    def phase(self, text: str) -> None:
        """Something that takes more than a second begins."""

    def reading(self, reading: Reading, total_steps: int | None) -> None:
        """A step or a validation was measured."""

    def note(self, text: str) -> None:
        """A line that stays."""

    def close(self) -> None:
        """The run is over; nothing moves any more."""


class Silent:
    """Says nothing: for programs that use the library."""

    def begin(self, folder: RunFolder) -> None:
        """Nothing."""

    def phase(self, text: str) -> None:
        """Nothing."""

    def reading(self, reading: Reading, total_steps: int | None) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Pace:
    """Estimates the time left from the steps of this attempt, validations and checkpoints included.

    The time before the first step is not counted; of the rest the mean is taken, which a slow validation cannot upset.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._first: tuple[int, float] | None = None
        self._last: tuple[int, float] | None = None

    def step(self, step: int) -> None:
        """A step has ended now."""
        self._last = (step, self._clock())
        self._first = self._first or self._last

    def seconds_left(self, total_steps: int | None, seconds_per_step: float | None) -> float | None:
        """Seconds to the last step; from one step alone its own time is taken."""
        if self._first is None or self._last is None or total_steps is None:
            return None
        steps, seconds = self._last[0] - self._first[0], self._last[1] - self._first[1]
        each = seconds / steps if steps > 0 else seconds_per_step
        return None if each is None else max(0.0, (total_steps - self._last[0]) * each)


def duration(seconds: float | None) -> str:
    """`seconds` for people: 42s, 3m05s, 2h07m, 3d04h."""
    if seconds is None:
        return "-"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"


def number(value: float | None) -> str:
    """`value` in four characters or so."""
    if value is None:
        return "-"
    return f"{value:.2e}" if value and (abs(value) < 0.001 or abs(value) >= 1e5) else f"{value:.4g}"


def step_line(reading: Reading, total_steps: int | None, seconds_left: float | None) -> str:
    """One step, on one line; a number verl did not measure is left out."""
    of = f"/{total_steps}" if total_steps else ""
    parts = [
        ("reward", reading.reward),
        *(reading.parts.items() if len(reading.parts) > 1 else ()),
        ("kl", reading.kl),
        ("entropy", reading.entropy),
        ("tokens", reading.response_tokens),
        ("s/step", reading.seconds),
        ("tokens/s", reading.tokens_per_second_per_gpu),
        ("GB", reading.memory_gb),
    ]
    shown = "  ".join(f"{name} {number(value)}" for name, value in parts if value is not None)
    left = f"  left {duration(seconds_left)}" if seconds_left is not None else ""
    return f"step {reading.step}{of}  {shown}{left}"


def validation_line(reading: Reading) -> str:
    """The validation scores of one step, on one line."""
    scores = "  ".join(f"{name} {number(value)}" for name, value in reading.validation.items())
    return f"validation after step {reading.step}  {scores}"


class PlainReporter:
    """One line an event."""

    def __init__(self, stream: IO[str] | None = None, clock: Clock = time.monotonic) -> None:
        self._stream = stream or sys.stdout
        self._pace = Pace(clock)

    def _say(self, text: str) -> None:
        try:
            print(text, file=self._stream, flush=True)
        except (BrokenPipeError, ValueError):
            self._stream = open("/dev/null", "w", encoding="utf-8")  # noqa: SIM115 the reader has gone, training goes on

    def begin(self, folder: RunFolder) -> None:
        """Nothing: the folder is named at the end."""

    def phase(self, text: str) -> None:
        """Begin something slow."""
        self._say(text)

    def reading(self, reading: Reading, total_steps: int | None) -> None:
        """One line for the step, one for its validation."""
        if reading.is_training:
            self._pace.step(reading.step)
            self._say(step_line(reading, total_steps, self._pace.seconds_left(total_steps, reading.seconds)))
        if reading.validation:
            self._say(validation_line(reading))

    def note(self, text: str) -> None:
        """A line that stays."""
        self._say(text)

    def close(self) -> None:
        """Nothing moves."""


def closing_lines(folder: Path, log: Path, state: str, reason: str | None, plot: str, notes: list[str]) -> str:
    """What stands at the end of a run: plot, state with its reason, where things are."""
    lines = [plot] if plot else []
    lines += notes
    lines.append(f"run {state}" + (f": {reason}" if reason else ""))
    if reason:
        lines.append(f"log: {log}")
    lines.append(f"run folder: {folder}")
    return "\n".join(lines)
