"""Following `logs/verl.log` while verl writes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MAX_READ_BYTES = 1 << 20
PHASES: tuple[tuple[str, str], ...] = (
    ("ray init kwargs", "starting Ray"),
    ("Started a local Ray instance", "starting verl's trainer"),
    ("Using dataset class", "reading the dataset"),
    ("create worker group", "loading the model"),
    ("model engine initialized", "starting the rollout engine"),
    ("Resuming from", "loading the checkpoint"),
    ("all initialize finished", "starting agents"),
    ("Creating file logger", "waiting for the first answers"),
    ("Initial validation metrics", "training the first step"),
)


@dataclass(slots=True)
class LogFollower:
    """Reads what is appended to a log, from where it ended when the follower was made."""

    path: Path
    start: int = 0
    _offset: int = 0

    def __post_init__(self) -> None:
        self.start = self._offset = self.path.stat().st_size if self.path.exists() else 0

    def new_text(self) -> str:
        """What was written since the last call; of a flood only the end."""
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(self._offset, size - MAX_READ_BYTES))
                data = file.read()
        except OSError:
            return ""
        self._offset = size
        return data.decode("utf-8", errors="replace")

    def all_text(self, limit_bytes: int) -> str:
        """Everything since the follower was made, or its last `limit_bytes`."""
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(self.start, size - limit_bytes))
                return file.read().decode("utf-8", errors="replace")
        except OSError:
            return ""


def phase_in(text: str, before: int = 0) -> int:
    """How many of PHASES verl has come to, judged by what it printed; never fewer than `before`."""
    found = [number for number, (mark, _) in enumerate(PHASES, 1) if mark in text]
    return max([before, *found])
