"""`status.json`: how a run stands, true whatever happens.

The file is replaced as a whole, so that a reader never sees half of it. It names the process that answers for the run
by id and start: a status that says `running` while that process is gone is read as a failure, so even a machine that
lost power tells the truth afterwards. On another machine the process cannot be looked up and the file is believed.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from orbiter_spec.launch.processes import is_alive, start_time

PROCESS_DIED = "the process died"


class State(StrEnum):
    """Where a run is in its life."""

    PREPARING = "preparing"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    INTERRUPTED = "interrupted"

    @property
    def is_active(self) -> bool:
        """True while a process is at work."""
        return self in (State.PREPARING, State.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The content of `status.json`. Times are ISO 8601 in UTC; steps count from 1, and 0 is before the first."""

    state: State
    reason: str | None = None
    started_at: str
    updated_at: str
    finished_at: str | None = None
    host: str
    pid: int | None
    pid_started: int | None
    attempt: int = 1
    step: int = 0
    total_steps: int | None = None
    exit_code: int | None = None
    resumable_step: int | None = None


def utc_now() -> str:
    """Now, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def new_status(**values: Any) -> Status:
    """A status `preparing`, answered for by this process."""
    now, pid = utc_now(), os.getpid()
    start: dict[str, Any] = {"state": State.PREPARING, "started_at": now, "updated_at": now}
    owner = {"host": socket.gethostname(), "pid": pid, "pid_started": start_time(pid)}
    return Status(**{**start, **owner, **values})


def changed(status: Status, **values: Any) -> Status:
    """`status` with `values`, updated now; a state that is not active ends it."""
    now = utc_now()
    after = replace(status, updated_at=now, **values)
    return after if after.state.is_active else replace(after, finished_at=after.finished_at or now)


def write_status(path: Path, status: Status) -> None:
    """Replace `path` by `status` in one move."""
    text = json.dumps(asdict(status), indent=2) + "\n"
    handle, name = tempfile.mkstemp(prefix=".status.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_status(path: Path) -> Status | None:
    """The status in `path`, corrected when its process is gone; None when there is none that can be read."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        known = {field.name for field in fields(Status)}
        status = Status(**{key: value for key, value in values.items() if key in known})
        status = replace(status, state=State(status.state))
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    return _corrected(status)


def _corrected(status: Status) -> Status:
    here = status.host == socket.gethostname()
    if not status.state.is_active or not here:
        return status
    if status.pid is not None and is_alive(status.pid, status.pid_started):
        return status
    return replace(status, state=State.FAILED, reason=PROCESS_DIED, finished_at=status.updated_at)
