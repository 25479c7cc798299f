"""Checks of rows that found nothing, remembered within one process.

Specs of a sweep share their rows, and reading them again is a third of the time of `validate` over all. A check is not
made twice for requests that differ only in where they are written, as long as the files are the ones that were read.
What found something is made again, since each spec is told at its own line; so is whatever depends on more than rows:
pipelines, recorded runs, data sets of a hub, images.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from orbiter_spec.data.request import BuildResult, DatasetRequest
from orbiter_spec.diagnostics import Place

MOST = 64
SETTLED_SECONDS = 2.0
"""A file may change within the grain of its time stamp, so one that was written just now is read each time."""
_CLEAN: OrderedDict[Hashable, BuildResult] = OrderedDict()


def remembered(request: DatasetRequest, said: Hashable, check: Callable[[], BuildResult]) -> BuildResult:
    """The result of `check`, or that of an equal one before it; `said` is what it depends on beside the request."""
    key = _key(request, said)
    if key is None:
        return check()
    found = _CLEAN.get(key)
    if found is None:
        found = check()
        if not found.diagnostics:
            _CLEAN[key] = found
            if len(_CLEAN) > MOST:
                _CLEAN.popitem(last=False)
    return found


def _key(request: DatasetRequest, said: Hashable) -> Hashable | None:
    sources = (*request.train, *request.validation)
    if request.pipeline or request.columns.images or any(source.run or source.hub for source in sources):
        return None
    try:
        stats = [source.path.stat() for source in sources]
    except OSError:
        return None
    if any(time.time() - stat.st_mtime < SETTLED_SECONDS for stat in stats):
        return None
    stamps = tuple((stat.st_mtime_ns, stat.st_size, stat.st_ino) for stat in stats)
    return stamps, _without_places(request), _without_places(said)


def _without_places(value: Any) -> Hashable:
    """`value` as something that compares equal wherever in a spec it was written."""
    if isinstance(value, Place):
        return None
    if is_dataclass(value):
        return type(value), tuple(_without_places(getattr(value, field.name)) for field in fields(value))
    if isinstance(value, Mapping):
        return tuple((name, _without_places(item)) for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(_without_places(item) for item in value)
    return value if isinstance(value, Hashable) else repr(value)
