"""actor, reference and critic on different engines

## What it checks

`strategy` is the same for the actor, the reference and, where there is one, the critic.

## Why it matters

The critic does not follow the actor: `fsdp2` for one leaves the other on FSDP1, silently.

## Bad

```yaml
actor_rollout_ref.actor.strategy: fsdp2
critic.strategy: fsdp
algorithm.adv_estimator: gae
```

## Good

```yaml
actor_rollout_ref.actor.strategy: fsdp2
critic.strategy: fsdp2
algorithm.adv_estimator: gae
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic, uses_reference


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare the strategies of the roles that are on."""
    actor = settings.get("actor_rollout_ref.actor.strategy", "fsdp")
    others = (["actor_rollout_ref.ref"] if uses_reference(settings) else []) + (
        ["critic"] if uses_critic(settings) else []
    )
    for role in others:
        other = settings.get(f"{role}.strategy", actor)
        if other != actor:
            yield KeyFinding(
                f"{role}.strategy",
                f"{other}, and the actor runs {actor}",
                f"use {actor}",
                severity=Severity.WARNING,
                related=(("actor_rollout_ref.actor.strategy", str(actor)),),
            )
