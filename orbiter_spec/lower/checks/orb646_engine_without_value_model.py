"""critic on an engine that trains no value model

## What it checks

A critic that is on trains with FSDP, FSDP2, Megatron or VeOmni.

## Why it matters

verl's registry has a language model of torchtitan, fsdp_turbo and automodel and no value model: the critic's workers
fail when they are built.

## Bad

```yaml
actor_rollout_ref.actor.strategy: torchtitan
critic.strategy: torchtitan
critic.model.path: some/model
algorithm.adv_estimator: gae
```

## Good

```yaml
critic.strategy: fsdp2
critic.model.path: some/model
algorithm.adv_estimator: gae
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic

WITHOUT = ("torchtitan", "fsdp_turbo", "automodel")


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look the critic's engine up."""
    engine = settings.get("critic.strategy")
    if uses_critic(settings) and engine in WITHOUT:
        note = f"{engine} trains no value model"
        cure = "use fsdp2, megatron or veomni for all roles, or an estimator without a critic, such as grpo"
        estimator = settings.get("algorithm.adv_estimator", "gae")
        yield KeyFinding("critic.strategy", note, cure, related=(("algorithm.adv_estimator", f"{estimator}"),))
