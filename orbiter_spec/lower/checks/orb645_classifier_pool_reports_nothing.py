"""reward classifier in a pool of its own, without a function

## What it checks

A reward model with `enable_resource_pool` comes with a custom reward function.

## Why it matters

In its own pool a model is asked while answers are generated, and verl reads `reward_extra_info` from what comes back.
Its built-in scoring returns the score alone: every sample fails with a KeyError.

## Bad

```yaml
reward.reward_model.enable: true
reward.reward_model.enable_resource_pool: true
reward.reward_model.nnodes: 1
reward.reward_model.model_path: some/classifier
reward.custom_reward_function.path: null
```

## Good

```yaml
reward.reward_model.enable: true
reward.reward_model.enable_resource_pool: true
reward.reward_model.nnodes: 1
reward.reward_model.model_path: some/classifier
reward.custom_reward_function.path: reward.py
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look for the function."""
    home, function = "reward.reward_model", "reward.custom_reward_function.path"
    pooled = settings.get(f"{home}.enable") and settings.get(f"{home}.enable_resource_pool")
    if not pooled or settings.get(function) is not None:
        return
    yield KeyFinding(
        f"{home}.enable_resource_pool",
        "built-in scoring reports no reward_extra_info, which is read here",
        f"set {function} to a function that asks the model, or set enable_resource_pool to false",
    )
