"""What Ray has been asked for and cannot give, read from its own log.

Ray's monitor writes the state of its resources to `monitor.log` in the session folder every five seconds; the driver is
told little of it, and nothing at all about a placement group that waits for CPUs. The log needs no connection to Ray.
"""

from __future__ import annotations

import re
from pathlib import Path

TAIL_BYTES = 16 << 10
_USAGE = re.compile(r"^\s*([\d.]+/[\d.]+ (?:CPU|GPU))\s*$", re.MULTILINE)
_DEMANDS = re.compile(r"^(?:Pending )?Demands:\n((?: .*\n)+)", re.MULTILINE)


def unmet_demand(scratch: Path) -> str | None:
    """What waits for resources in the session below `scratch`, in one line.

    Empty when nothing waits; None when Ray has not said yet.
    """
    logs = sorted(scratch.glob("ray/session_2*/logs/monitor.log"))
    return parse_demand(_tail(logs[-1])) if logs else None


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


def parse_demand(log: str) -> str | None:
    """The last report in the text of a `monitor.log`, as `unmet_demand` says it."""
    reports = log.split("======== Autoscaler status")
    demands = _DEMANDS.search(reports[-1]) or (_DEMANDS.search(reports[-2]) if len(reports) > 2 else None)
    if demands is None:
        return None
    waiting = [line.strip() for line in demands[1].splitlines() if "(no resource demands)" not in line]
    if not waiting:
        return ""
    usage = ", ".join(_USAGE.findall(demands.string[: demands.start()]))
    return "; ".join(waiting) + (f" (in use: {usage})" if usage else "")
