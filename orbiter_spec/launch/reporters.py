"""Which reporter suits where a run is watched: a terminal, or anything else."""

from __future__ import annotations

import sys
from typing import IO

from orbiter_spec.launch.progress import PlainReporter, Reporter


def make_reporter(stream: IO[str] | None = None) -> Reporter:
    """A live reporter for a terminal, a plain one for anything else."""
    stream = stream or sys.stdout
    if not stream.isatty():
        return PlainReporter(stream)
    from orbiter_spec.launch.live import LiveReporter

    return LiveReporter(stream)
