"""What a terminal shows while a run goes on: a bar, the numbers with how they came there, two answers, the machine.

The view stands at the bottom and is drawn anew twice a second; validations and notes scroll away above it. It is as
high as the terminal allows: answers go first. The last answers come from the run folder, where verl writes them.
"""

from __future__ import annotations

import sys
import time
from typing import IO, TYPE_CHECKING, Any

from orbiter_spec.launch.live_answers import last_answers
from orbiter_spec.launch.machine import last_use
from orbiter_spec.launch.progress import Clock, Pace, duration, number, validation_line
from orbiter_spec.launch.reading import Reading
from orbiter_spec.launch.run_folder import RunFolder

if TYPE_CHECKING:
    from rich.console import RenderableType

LEVELS = "▁▂▃▄▅▆▇█"
SPARK_WIDTH = 24
HISTORY = 400
ANSWERS_FROM_HEIGHT = 24
ROWS: tuple[tuple[str, str, str], ...] = (
    ("reward", "reward", ""),
    ("kl", "KL", "nats"),
    ("entropy", "entropy", "nats"),
    ("response_tokens", "answer length", "tokens"),
    ("tokens_per_second_per_gpu", "throughput", "tokens/s per GPU"),
    ("seconds", "time per step", "s"),
    ("memory_gb", "memory of a process", "GB"),
)


def spark(values: list[float], width: int = SPARK_WIDTH) -> str:
    """`values` as bars, the last ones when there are more than `width` twice, neighbours averaged when more."""
    if len(values) < 2:
        return ""
    size = -(-len(values) // width)
    means = [sum(values[at : at + size]) / len(values[at : at + size]) for at in range(0, len(values), size)]
    low, span = min(means), max(means) - min(means)
    return "".join(LEVELS[round((value - low) / span * (len(LEVELS) - 1))] if span else LEVELS[3] for value in means)


class LiveReporter:
    """A `Reporter` for a terminal."""

    def __init__(self, stream: IO[str] | None = None, clock: Clock = time.monotonic) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(file=stream or sys.stdout, highlight=False)
        self._pace, self._clock, self._started = Pace(clock), clock, clock()
        self._phase = "starting"
        self._folder: RunFolder | None = None
        self._reading: Reading | None = None
        self._total: int | None = None
        self._history: dict[str, list[float]] = {}
        self._live = Live(self, console=self._console, refresh_per_second=2, transient=True)
        self._live.start()

    def begin(self, folder: RunFolder) -> None:
        """The run in `folder` starts here."""
        self._folder = folder

    def phase(self, text: str) -> None:
        """Begin something slow."""
        self._phase = text

    def reading(self, reading: Reading, total_steps: int | None) -> None:
        """Take a step's numbers; keep a line of validation."""
        if reading.is_training:
            self._pace.step(reading.step)
            self._reading, self._total, self._phase = reading, total_steps, ""
            for name, value in _named(reading):
                self._history.setdefault(name, []).append(value)
                del self._history[name][:-HISTORY]
        if reading.validation:
            self.note(validation_line(reading))

    def note(self, text: str) -> None:
        """A line that stays."""
        self._live.console.print(text, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Remove the view."""
        self._live.stop()

    def __rich__(self) -> RenderableType:
        """The view as it stands now."""
        from rich.console import Group

        parts: list[RenderableType] = [self._bar()]
        if self._reading is not None:
            parts.append(self._numbers(self._reading))
            if self._folder is not None and self._console.height >= ANSWERS_FROM_HEIGHT:
                parts += self._answers(self._folder)
        if self._folder is not None and (use := _use_line(last_use(self._folder.machine))):
            parts.append(_text(use, "dim"))
        return Group(*parts)

    def _bar(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.spinner import Spinner
        from rich.table import Table

        row = Table.grid(padding=(0, 1))
        passed = duration(self._clock() - self._started)
        if self._reading is None or self._phase:
            row.add_row(Spinner("dots"), _text(f"{self._phase}  {passed}"))
            return row
        step, total = self._reading.step, self._total
        left = self._pace.seconds_left(total, self._reading.seconds)
        of = f"/{total}" if total else ""
        ending = f"  left {duration(left)}" if left is not None else ""
        row.add_row(_text(f"step {step}{of}", "bold"), ProgressBar(total, step, width=28), _text(f"{passed}{ending}"))
        return row

    def _numbers(self, reading: Reading) -> RenderableType:
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        for column in range(4):
            table.add_column(justify="right" if column == 1 else "left", no_wrap=True)
        units = {name: (label, unit) for name, label, unit in ROWS}
        for name, value in _named(reading):
            label, unit = units.get(name, (f"  {name}", ""))
            curve = _text(spark(self._history[name]), "cyan")
            table.add_row(_text(label, "dim"), _text(number(value)), _text(unit, "dim"), curve)
        return table

    def _answers(self, folder: RunFolder) -> list[RenderableType]:
        lines: list[RenderableType] = []
        for score, prompt, answer in last_answers(folder.rollouts):
            lines.append(_text(f"{score:>6}  {prompt}", "dim"))
            lines.append(_text(f"        {answer}"))
        return lines


def _named(reading: Reading) -> list[tuple[str, float]]:
    """The numbers of a step in the order they are shown: the parts of the reward under the reward."""
    found = [(name, getattr(reading, name)) for name, _, _ in ROWS]
    parts = [*reading.parts.items()] if len(reading.parts) > 1 else []
    return [(name, value) for name, value in [found[0], *parts, *found[1:]] if value is not None]


def _use_line(use: dict[str, Any]) -> str:
    shown = (
        ("cpu_percent", "CPU {:.0f}%"),
        ("memory_gb", "memory {:.1f} GB"),
        ("gpu_percent", "GPU {:.0f}%"),
        ("gpu_memory_gb", "GPU memory {:.1f} GB"),
    )
    return "  ".join(form.format(use[name]) for name, form in shown if name in use)


def _text(text: str, style: str = "") -> RenderableType:
    from rich.text import Text

    return Text(text, style=style, no_wrap=True, overflow="ellipsis")
