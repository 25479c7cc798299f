"""rollout correction without the rollout's probabilities

## What it checks

With `bypass_mode`, `rollout_is` or `rollout_rs` the rollout keeps `calculate_log_probs`.

## Why it matters

Bypass reads a column that is not there and raises in the first step; the others are silently skipped.

## Bad

```yaml
algorithm.rollout_correction.rollout_is: token
actor_rollout_ref.rollout.calculate_log_probs: false
```

## Good

```yaml
algorithm.rollout_correction.rollout_is: token
actor_rollout_ref.rollout.calculate_log_probs: true
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding

HOME = "algorithm.rollout_correction"
KEY = "actor_rollout_ref.rollout.calculate_log_probs"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare the correction with what is recorded."""
    if settings.get(KEY, True):
        return
    if settings.get(f"{HOME}.bypass_mode"):
        yield KeyFinding(KEY, "bypass takes the rollout's probabilities", "set it to true")
        return
    for word in ("rollout_is", "rollout_rs"):
        if settings.get(f"{HOME}.{word}"):
            note = f"{word} corrects nothing without them"
            yield KeyFinding(KEY, note, "set it to true", severity=Severity.WARNING)
            return
