"""What the client and the program on the cluster say to each other.

The client writes `orbiter_job.json` into the parcel; the program answers by lines of its log that begin with MARK and
hold one JSON object. Both sides come from the same version, because the program travels with the run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

TASK_FILE = "orbiter_job.json"
MARK = "@orbiter "
TOKEN_FILE = ".orbiter-run"
CARRIED_PACKAGE = "orbiter_cluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One submission of a run.

    `folder` is where output goes on the cluster, or empty: then the run folder itself where the cluster sees it (it
    holds the file TOKEN_FILE with `run`), else `~/orbiter-runs/NAME`. `attempt` is the number of the first attempt.
    `resume_from` is the checkpoint that the spec begins from, or empty.
    """

    run: str
    name: str
    folder: str
    run_folder: str
    attempt: int
    retries: int
    resume: bool
    total_steps: int | None
    checkpoints: str
    outputs: Mapping[str, str]
    overrides: list[str]
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    silence_seconds: float | None = 1800.0
    grace_seconds: float = 2.0
    on_cpu: bool = False
    resume_from: str = ""

    def write(self, folder: Path) -> None:
        """Write TASK_FILE into `folder`."""
        (folder / TASK_FILE).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Task:
        """Read TASK_FILE of `folder`."""
        values = json.loads((folder / TASK_FILE).read_text(encoding="utf-8"))
        known = {one.name for one in fields(cls)}
        return cls(**{key: value for key, value in values.items() if key in known})


def event_line(event: str, **values: Any) -> str:
    """One marked line."""
    return MARK + json.dumps({"event": event, **values}) + "\n"


def parse_event(line: str) -> dict[str, Any] | None:
    """The event in a line of the job's log, or None."""
    if not line.startswith(MARK):
        return None
    try:
        found = json.loads(line[len(MARK) :])
    except ValueError:
        return None
    return found if isinstance(found, dict) and "event" in found else None
