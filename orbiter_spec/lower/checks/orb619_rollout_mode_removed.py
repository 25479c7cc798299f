"""rollout mode that is gone

## What it checks

`actor_rollout_ref.rollout.mode` is async.

## Why it matters

The synchronous rollout was removed. verl raises when the rollout is configured, after the actor is loaded.

## Bad

```yaml
actor_rollout_ref.rollout.mode: sync
```

## Good

```yaml
actor_rollout_ref.rollout.mode: async
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the mode."""
    key = "actor_rollout_ref.rollout.mode"
    mode = settings.get(key, "async")
    if mode != "async":
        yield KeyFinding(key, f"{key} = {mode!r}", "use async, or leave it out")
