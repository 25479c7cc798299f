"""judge or teacher with random weights

## What it checks

`load_format` of a reward model or a teacher that is on is not `dummy`.

## Why it matters

The rollout starts with random weights because training sends it its own. Nothing sends weights to a reward model or a
teacher: rewards and targets would be noise, and the run looks sound.

## Bad

```yaml
reward.reward_model.enable: true
reward.reward_model.model_path: some/judge
reward.reward_model.rollout.load_format: dummy
```

## Good

```yaml
reward.reward_model.enable: true
reward.reward_model.model_path: some/judge
reward.reward_model.rollout.load_format: auto
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import engines_served

ROLLOUT = "actor_rollout_ref.rollout"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at each engine but the rollout's."""
    for home in engines_served(settings):
        key = f"{home}.load_format"
        if home != ROLLOUT and settings.get(key) == "dummy":
            note = "its weights are drawn at random, and none are sent"
            yield KeyFinding(key, note, "use auto", severity=Severity.WARNING)
