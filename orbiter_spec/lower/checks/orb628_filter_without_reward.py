"""group filter before the reward is known

## What it checks

With `algorithm.filter_groups.enable` a reward model that is on has a pool of its own.

## Why it matters

A reward model on the training GPUs scores after the groups are chosen. The trainer asserts it when it is made.

## Bad

```yaml
algorithm.filter_groups.enable: true
reward.reward_model.enable: true
reward.reward_model.model_path: some/reward-model
```

## Good

```yaml
algorithm.filter_groups.enable: true
reward.reward_model.enable: true
reward.reward_model.enable_resource_pool: true
reward.reward_model.nnodes: 1
reward.reward_model.model_path: some/reward-model
reward.custom_reward_function.path: reward.py
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the switches."""
    home, filtering = "reward.reward_model", "algorithm.filter_groups"
    if not settings.get(f"{filtering}.enable"):
        return
    if settings.get(f"{home}.enable") and not settings.get(f"{home}.enable_resource_pool"):
        note = "the model scores only after groups are chosen"
        cure = f"set {home}.enable_resource_pool to true, with nodes"
        yield KeyFinding(f"{home}.enable_resource_pool", note, cure, related=((f"{filtering}.enable", "true"),))
    if not settings.get(f"{filtering}.metric", "reward"):
        yield KeyFinding(f"{filtering}.metric", "nothing has to differ", "use reward")
