"""profiler option that verl refuses

## What it checks

Under `profiler.tool_config` of the actor, the reference, the critic and the rollout: what is recorded and how deeply
are names the tool knows, schedules and sizes are whole numbers, the last token comes after the first, and workers
that are recorded by number are there.

## Why it matters

verl builds these options with the role they stand under, whether the profiler runs or not, and asserts each.

## Bad

```yaml
actor_rollout_ref.actor.profiler.tool_config.torch.contents: [gpu]
```

## Good

```yaml
actor_rollout_ref.actor.profiler.tool_config.torch.contents: [cuda]
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic, uses_reference
from orbiter_spec.lower.checks.sizes import gpus

CONTENTS: Mapping[str, tuple[str, ...]] = {
    "torch": ("cuda", "cpu", "memory", "shapes", "stack"),
    "npu": ("npu", "cpu", "memory", "shapes", "module", "stack"),
}
LEVELS = ("level_none", "level0", "level1", "level2")
SCHEDULE = ("skip_first", "wait", "warmup", "active", "repeat")
SIZES = ("trace_alloc_max_entries", "stack_depth", "memory_snapshot_num_steps")


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the options of each role that is built."""
    roles = ["actor_rollout_ref.actor", "actor_rollout_ref.rollout"]
    roles += ["actor_rollout_ref.ref"] if uses_reference(settings) else []
    roles += ["critic"] if uses_critic(settings) else []
    for role in roles:
        yield from _ranks(settings, f"{role}.profiler")
        home = f"{role}.profiler.tool_config"
        for tool in CONTENTS:
            yield from _contents(settings, f"{home}.{tool}", tool)
            yield from _tokens(settings, f"{home}.{tool}")
        level = settings.get(f"{home}.npu.level", "level0")
        if level not in LEVELS:
            yield KeyFinding(f"{home}.npu.level", f"{level!r}", f"use {', '.join(LEVELS)}")
        least = [(f"{home}.torch.schedule.{word}", 0) for word in SCHEDULE]
        for key, lowest in [*least, *((f"{home}.torch_memory.{word}", 1) for word in SIZES)]:
            value = settings.get(key, lowest)
            if not isinstance(value, int) or value < lowest:
                yield KeyFinding(key, f"{key} = {value!r}", f"use a whole number, {lowest} or more")


def _ranks(settings: Mapping[str, Any], home: str) -> Iterator[KeyFinding]:
    """Workers that are looked at by number; the rollout takes numbers of GPUs too."""
    listed, total = settings.get(f"{home}.ranks"), gpus(settings)
    if not settings.get(f"{home}.enable") or settings.get(f"{home}.all_ranks") or not isinstance(listed, list):
        return
    beyond = [rank for rank in listed if isinstance(rank, int) and total and not 0 <= rank < total]
    if beyond:
        note = f"there is no worker {', '.join(map(str, beyond))} among {total}"
        cure = f"use numbers from 0 to {(total or 1) - 1}"
        yield KeyFinding(f"{home}.ranks", note, cure, severity=Severity.WARNING)


def _contents(settings: Mapping[str, Any], home: str, tool: str) -> Iterator[KeyFinding]:
    names = settings.get(f"{home}.contents", [])
    unknown = [name for name in names if name not in CONTENTS[tool]] if isinstance(names, list) else [names]
    if unknown:
        note = f"{tool} does not record {', '.join(map(str, unknown))}"
        yield KeyFinding(f"{home}.contents", note, f"use a list of {', '.join(CONTENTS[tool])}")


def _tokens(settings: Mapping[str, Any], home: str) -> Iterator[KeyFinding]:
    start, end = settings.get(f"{home}.profile_token_start"), settings.get(f"{home}.profile_token_end")
    for word, value in (("profile_token_start", start), ("profile_token_end", end)):
        if value is not None and not (isinstance(value, int) and value >= 0):
            yield KeyFinding(f"{home}.{word}", f"{value!r} is no token", "use a whole number, or null")
            return
    if start is not None and end is not None and end <= start:
        yield KeyFinding(f"{home}.profile_token_end", f"from {start} to {end}", f"use {start + 1} or more, or null")
