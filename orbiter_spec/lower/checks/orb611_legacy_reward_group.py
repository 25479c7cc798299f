"""reward settings that the trainer no longer reads

## What it checks

The top-level groups `reward_model`, `custom_reward_function` and `sandbox_fusion` of older releases are empty.

## Why it matters

They still compose, and verl's main trainer ignores them: another reward function runs than the one that was named.

## Bad

```yaml
custom_reward_function.path: rewards.py
```

## Good

```yaml
reward.custom_reward_function.path: rewards.py
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding

MOVED: Mapping[str, str] = {
    "custom_reward_function.": "reward.custom_reward_function.",
    "reward_model.num_workers": "reward.num_workers",
    "reward_model.reward_manager": "reward.reward_manager.name",
    "reward_model.reward_kwargs.": "reward.reward_kwargs.",
    "reward_model.model.path": "reward.reward_model.model_path",
    "reward_model.": "reward.reward_model.",
    "sandbox_fusion.": "reward.sandbox_fusion.",
}
OLD = tuple(MOVED)


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look for values in the old groups."""
    for key, value in settings.items():
        if not key.startswith(OLD) or value is None or value == {}:
            continue
        if key == "custom_reward_function.name" and value == "compute_score":
            continue
        old = next(prefix for prefix in OLD if key.startswith(prefix))
        new = MOVED[old] + (key.removeprefix(old) if old.endswith(".") else "")
        yield KeyFinding(key, f"{key} = {value!r} is not read", f"set {new} instead", severity=Severity.WARNING)
