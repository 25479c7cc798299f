"""training engine without what the trainer asks of it

## What it checks

A critic that is on trains with FSDP, FSDP2, Megatron or VeOmni. So does the actor where generation has GPUs of its own
(`separate_async`) and log-probabilities are computed again (no `bypass_mode`).

## Why it matters

verl's registry has a language model of torchtitan, fsdp_turbo and automodel and no value model: the critic's workers
fail when they are built. For old log-probabilities the separate trainer puts the older weights back, which it can for
the four engines only: it raises in the first step.

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
ACTOR, MODE = "actor_rollout_ref.actor.strategy", "trainer.v1.trainer_mode"
BYPASS = "algorithm.rollout_correction.bypass_mode"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look the engines up."""
    critic, actor = settings.get("critic.strategy"), settings.get(ACTOR)
    if uses_critic(settings) and critic in WITHOUT:
        note = f"{critic} trains no value model"
        cure = "use fsdp2, megatron or veomni for all roles, or an estimator without a critic, such as grpo"
        estimator = settings.get("algorithm.adv_estimator", "gae")
        yield KeyFinding("critic.strategy", note, cure, related=(("algorithm.adv_estimator", f"{estimator}"),))
    if settings.get(MODE) == "separate_async" and actor in WITHOUT and not settings.get(BYPASS):
        note = f"{actor} puts no older weights back for old log-probabilities"
        cure = f"use fsdp2, megatron or veomni, or set {BYPASS} to true"
        yield KeyFinding(ACTOR, note, cure, related=((MODE, "separate_async"),))
