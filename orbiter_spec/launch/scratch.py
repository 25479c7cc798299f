"""A run's scratch folder: Ray's session, short and private, and the mark by which leftovers are known.

A socket's path may have 107 bytes, so the folder is made directly below /tmp; nobody else uses it, so it can be removed
as a whole. Its name is the value of ORBITER_RUN_ID in every process of the run. It names the processes that answer for
it: when all are gone (a power cut, a kill of both), the next start ends what carries the mark and removes the folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

from orbiter_spec.launch.processes import is_alive, mapped_by_anyone, marked, shared_memory_of, start_time

MARKER = "ORBITER_RUN_ID"
PREFIX = "orbiter-"
OWNERS = "owners.json"
MAX_ROOT_BYTES = 30
END_SECONDS = 10.0


def make_scratch() -> Path:
    """A new private folder with a short path, owned by this process.

    Raises:
        OSError: when no temporary folder is short enough or writable.
    """
    roots = [Path("/tmp"), Path(tempfile.gettempdir())]
    fits = (root for root in roots if os.access(root, os.W_OK | os.X_OK) and len(os.fsencode(root)) <= MAX_ROOT_BYTES)
    root = next(fits, None)
    if root is None:
        raise OSError(f"no writable temporary folder with a path of at most {MAX_ROOT_BYTES} bytes")
    scratch = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
    add_owner(scratch, os.getpid())
    return scratch


def add_owner(scratch: Path, pid: int) -> None:
    """Let `pid` answer for `scratch` as well."""
    owners = [*_owners(scratch), {"pid": pid, "started": start_time(pid)}]
    (scratch / OWNERS).write_text(json.dumps(owners), encoding="utf-8")


def _owners(scratch: Path) -> list[dict[str, int | None]]:
    try:
        owners = json.loads((scratch / OWNERS).read_text(encoding="utf-8"))
        return [{"pid": int(one["pid"]), "started": one["started"]} for one in owners]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def remove_stale_scratch(root: Path = Path("/tmp")) -> list[Path]:
    """End what is left of runs whose owners are all gone, remove their folders, and return these."""
    return [path for path in sorted(root.glob(f"{PREFIX}*")) if _is_stale(path) and remove_scratch(path) == 0]


def _is_stale(scratch: Path) -> bool:
    owners = _owners(scratch)
    alive = any(is_alive(int(one["pid"] or 0), one["started"]) for one in owners)
    return bool(owners) and not alive and scratch.stat().st_uid == os.getuid()


def remove_scratch(scratch: Path) -> int:
    """Kill every process that carries the mark of `scratch`, then remove it; returns how many could not be ended."""
    end = time.monotonic() + END_SECONDS
    shared: set[Path] = set()
    while (pids := marked(MARKER, scratch.name)) and time.monotonic() < end:
        shared |= shared_memory_of(pids)
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
    remove_shared_memory(shared)
    shutil.rmtree(scratch, ignore_errors=True)
    return len(pids)


def remove_shared_memory(paths: set[Path]) -> None:
    """Remove those of `paths` that no living process has mapped."""
    for path in paths - mapped_by_anyone() if paths else set():
        with contextlib.suppress(OSError):
            path.unlink()
