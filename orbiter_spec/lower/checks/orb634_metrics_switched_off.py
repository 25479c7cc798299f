"""engine metrics that are switched off

## What it checks

With `rollout.prometheus.enable`, or the logger rl_insight, `disable_log_stats` is false.

## Why it matters

verl raises when the inference servers have started.

## Bad

```yaml
actor_rollout_ref.rollout.prometheus.enable: true
actor_rollout_ref.rollout.disable_log_stats: true
```

## Good

```yaml
actor_rollout_ref.rollout.prometheus.enable: true
actor_rollout_ref.rollout.disable_log_stats: false
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding

KEY = "actor_rollout_ref.rollout.disable_log_stats"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare the switches."""
    if settings.get("actor_rollout_ref.rollout.prometheus.enable") and settings.get(KEY, True):
        yield KeyFinding(KEY, "there is nothing for Prometheus to collect", "set it to false")
