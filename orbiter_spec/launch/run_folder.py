"""A run folder: one place for everything that one run reads and writes.

    RUN/compiled/  RUN/logs/  RUN/metrics.jsonl  RUN/metrics.parquet
    RUN/status.json  RUN/checkpoints/  RUN/rollouts/  RUN/validation/  RUN/report.png

The name carries the second of the start; two runs in one second get a number as well. `mkdir` decides who has a name,
so two programs that start together never share a folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path

from orbiter_spec.launch.status import State, Status, read_status, write_status

STOP_FILE = ".stop-asked"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths of one run. The folder is absolute; nothing is created by asking."""

    path: Path

    @classmethod
    def at(cls, path: Path | str) -> RunFolder:
        """The run folder at `path`."""
        return cls(Path(path).absolute())

    @property
    def name(self) -> str:
        """Name of the run."""
        return self.path.name

    @property
    def compiled(self) -> Path:
        """The compiled folder; verl's working folder."""
        return self.path / "compiled"

    @property
    def logs(self) -> Path:
        """Output of verl and Ray, and one file of metrics an attempt."""
        return self.path / "logs"

    @property
    def log(self) -> Path:
        """What verl printed, all attempts in one file."""
        return self.logs / "verl.log"

    @property
    def machine(self) -> Path:
        """How busy the machine was, a line every few seconds."""
        return self.logs / "machine.jsonl"

    @property
    def metrics(self) -> Path:
        """One JSON object a step, over all attempts."""
        return self.path / "metrics.jsonl"

    @property
    def metrics_table(self) -> Path:
        """The same as columns, written when the run ends."""
        return self.path / "metrics.parquet"

    @property
    def status_file(self) -> Path:
        """See `Status`."""
        return self.path / "status.json"

    @property
    def checkpoints(self) -> Path:
        """verl's checkpoints, unless the spec names another folder."""
        return self.path / "checkpoints"

    @property
    def rollouts(self) -> Path:
        """Answers in training, one file a step."""
        return self.path / "rollouts"

    @property
    def validation(self) -> Path:
        """Answers in validation, one file each time."""
        return self.path / "validation"

    @property
    def findings(self) -> Path:
        """What the checks said before the run, as JSON."""
        return self.path / "findings.json"

    @property
    def report_image(self) -> Path:
        """The plot of the reward."""
        return self.path / "report.png"

    def read_status(self) -> Status | None:
        """How the run stands; None when it never started."""
        return read_status(self.status_file)

    def write_status(self, status: Status) -> None:
        """Replace the status in one move."""
        write_status(self.status_file, status)


def create_run_folder(root: Path, name: str, now: datetime) -> RunFolder:
    """Make `root/<name>-YYYYMMDD-HHMMSS`, with a number behind it when that is taken.

    Raises:
        OSError: when `root` cannot be made or written.
    """
    root = root.absolute()
    root.mkdir(parents=True, exist_ok=True)
    stem = f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name)}-{now:%Y%m%d-%H%M%S}"
    for number in count(1):
        path = root / (stem if number == 1 else f"{stem}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        (path / "logs").mkdir()
        return RunFolder(path)
    raise AssertionError("count() does not end")


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of a list of runs."""

    folder: RunFolder
    status: Status

    @property
    def state(self) -> State:
        """Where the run is in its life."""
        return self.status.state


def list_runs(root: Path) -> list[RunSummary]:
    """Every run in `root`, the newest first; folders without a readable status are no runs."""
    if not root.is_dir():
        return []
    folders = [RunFolder.at(path) for path in root.iterdir() if path.is_dir()]
    runs = [RunSummary(folder, status) for folder in folders if (status := folder.read_status()) is not None]
    return sorted(runs, key=lambda run: (run.status.started_at, run.folder.name), reverse=True)
