"""bypass without its loss

## What it checks

With `rollout_correction.bypass_mode`, `policy_loss.loss_mode` is `bypass_mode` where a rejection, a weight or a loss
of its own is asked for.

## Why it matters

The trainer copies the rollout's probabilities and goes on with the plain loss. What the older trainer did there,
weights and rejection, is skipped.

## Bad

```yaml
algorithm.rollout_correction.bypass_mode: true
algorithm.rollout_correction.rollout_is: token
```

## Good

```yaml
algorithm.rollout_correction.bypass_mode: true
algorithm.rollout_correction.rollout_is: token
actor_rollout_ref.actor.policy_loss.loss_mode: bypass_mode
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding

HOME = "algorithm.rollout_correction"
KEY = "actor_rollout_ref.actor.policy_loss.loss_mode"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare the loss with what bypass is asked for."""
    if not settings.get(f"{HOME}.bypass_mode") or settings.get(KEY) == "bypass_mode":
        return
    asked = [word for word in ("rollout_is", "rollout_rs") if settings.get(f"{HOME}.{word}")]
    if settings.get(f"{HOME}.loss_type", "ppo_clip") != "ppo_clip":
        asked.append("loss_type")
    if asked:
        note = f"{' and '.join(asked)} is skipped with the loss {settings.get(KEY, 'vanilla')}"
        cure = f"set {KEY} to bypass_mode, or leave bypass_mode out"
        yield KeyFinding(f"{HOME}.bypass_mode", note, cure, severity=Severity.WARNING)
