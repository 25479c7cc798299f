"""value that has to be given is missing

## What it checks

No key that will be read still holds `???`, verl's mark for a value that only the user can give.

## Why it matters

verl reads it when the part that needs it is built, most often after the actor's weights are loaded, and raises there.

## Bad

```yaml
actor_rollout_ref.rollout.name: "???"
```

## Good

```yaml
actor_rollout_ref.rollout.name: vllm
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding

SWITCHES: Mapping[str, str] = {
    "reward.reward_model.": "reward.reward_model.enable",
    "distillation.": "distillation.enabled",
    "critic.": "critic.enable",
}


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look for the mark in every part that is on."""
    for key in [key for key, value in settings.items() if value == "???"]:
        switch = next((switch for prefix, switch in SWITCHES.items() if key.startswith(prefix)), None)
        if switch is None or settings.get(switch):
            yield KeyFinding(key, f"{key} is still ???", f"give {key} a value")
