"""nsys profiler without its worker options

## What it checks

With `global_profiler.tool: nsys` and steps, `worker_nsight_options` is set.

## Why it matters

verl asserts it when worker groups are made.

## Bad

```yaml
global_profiler.tool: nsys
global_profiler.steps: [1]
global_profiler.global_tool_config.nsys.worker_nsight_options: null
```

## Good

```yaml
global_profiler.tool: nsys
global_profiler.steps: [1]
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look for the options."""
    home = "global_profiler.global_tool_config.nsys"
    key = f"{home}.worker_nsight_options"
    wanted = settings.get("global_profiler.tool") == "nsys" and settings.get("global_profiler.steps") is not None
    missing = settings.get(key, "default") is None
    if wanted and missing:
        yield KeyFinding(key, "null", "leave it out, which takes verl's own")
