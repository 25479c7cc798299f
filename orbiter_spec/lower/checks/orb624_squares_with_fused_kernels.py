"""sum of squares beside fused kernels

## What it checks

`calculate_sum_pi_squared` is not combined with `use_fused_kernels`.

## Why it matters

Fused kernels never hold the logits that the sum needs. The first forward pass raises.

## Bad

```yaml
actor_rollout_ref.actor.calculate_sum_pi_squared: true
actor_rollout_ref.model.use_fused_kernels: true
```

## Good

```yaml
actor_rollout_ref.actor.calculate_sum_pi_squared: true
actor_rollout_ref.model.use_fused_kernels: false
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at both switches."""
    key, fused = "actor_rollout_ref.actor.calculate_sum_pi_squared", "actor_rollout_ref.model.use_fused_kernels"
    if settings.get(key) and settings.get(fused):
        yield KeyFinding(fused, "no logits to sum over", "set it to false", related=((key, "true"),))
