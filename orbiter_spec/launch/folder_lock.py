"""One process at a time answers for a run folder."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from orbiter_spec.launch.run_folder import RunFolder


@contextmanager
def locked(folder: RunFolder) -> Iterator[bool]:
    """Hold the run folder for this process; False when another one holds it."""
    folder.logs.mkdir(parents=True, exist_ok=True)
    with (folder.logs / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True
