"""steps that are no list of steps

## What it checks

`global_profiler.steps` and the `steps` under `skip` are lists of whole numbers, profiled steps are at least 1 and not
all beyond the last one, and a skip that is on has steps.

## Why it matters

verl builds every section of `skip` before the first step, also those that are off, and asserts them. It asks of each
step whether it is in the profiler's list, which a number cannot answer. Steps that never come, or none, do nothing.

## Bad

```yaml
global_profiler.tool: torch
global_profiler.steps: 5
```

## Good

```yaml
global_profiler.tool: torch
global_profiler.steps: [5]
actor_rollout_ref.actor.profiler.enable: true
actor_rollout_ref.actor.profiler.tool_config.torch.contents: [cuda]
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding

PROFILED = "global_profiler.steps"
SKIPS = ("rollout", "rollout_tq", "async_rollout")


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the profiler's steps, then at each section of `skip`."""
    steps = settings.get(PROFILED)
    if steps is not None and not _are_steps(steps):
        yield KeyFinding(PROFILED, f"{steps!r} is no list of whole numbers", _list_of(steps))
    elif steps:
        yield from _never(settings, steps)
    for name in SKIPS:
        yield from _skip(settings, f"skip.{name}")


def _never(settings: Mapping[str, Any], steps: list[int]) -> Iterator[KeyFinding]:
    """Steps count from one, and end with the run."""
    last = settings.get("trainer.total_training_steps")
    if max(steps) < 1 or (isinstance(last, int) and 0 < last < min(steps)):
        span = f"from 1 to {last}" if isinstance(last, int) else "from 1"
        note = f"{', '.join(map(str, steps))}, and steps count {span}"
        yield KeyFinding(PROFILED, note, f"use steps {span}", severity=Severity.WARNING)


def _skip(settings: Mapping[str, Any], home: str) -> Iterator[KeyFinding]:
    steps = settings.get(f"{home}.steps", [])
    if not _are_steps(steps):
        yield KeyFinding(f"{home}.steps", f"{steps!r} is no list of whole numbers", _list_of(steps))
    elif not steps and home == "skip.rollout_tq" and settings.get(f"{home}.enable"):
        note = "no step is kept or repeated"
        yield KeyFinding(f"{home}.enable", note, f"list the steps in {home}.steps", severity=Severity.WARNING)


def _are_steps(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(step, int) and not isinstance(step, bool) for step in value)


def _list_of(value: Any) -> str:
    return (
        f"write [{value}]"
        if isinstance(value, int) and not isinstance(value, bool)
        else "write a list, such as [5, 10]"
    )
