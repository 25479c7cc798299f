"""training engine without what the algorithm asks of it

## What it checks

An algorithm with a critic trains with FSDP, Megatron or VeOmni, and so does one whose generation has GPUs of its own,
unless the rollout's log-probabilities are taken as they are (`rollout_correction: {bypass: true}`).

## Why it matters

verl has no value model for torchtitan: the critic's workers fail when they are built. And it puts older weights back,
for the old log-probabilities of a separate rollout, for the other engines only: the first step raises.

## Bad

```yaml
algorithm: {name: ppo}
hardware: {train: {engine: torchtitan, shard_size: 8}}
```

## Good

```yaml
algorithm: {name: grpo}
hardware: {train: {engine: torchtitan, shard_size: 8}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

ROUTE = "hardware.train.engine"


def check(plan: Plan) -> Iterator[Finding]:
    """Look at what the engine has to do."""
    if facts.train_engine(plan) != "torchtitan":
        return
    if plan.needs_critic:
        yield Finding(
            route=ROUTE,
            note="torchtitan trains no value model",
            help="use fsdp2, megatron or veomni, or an algorithm without a critic, such as grpo",
            related=(("algorithm.name", "has a critic"),),
        )
    elif facts.separate(plan) and not plan.get("algorithm.rollout_correction.bypass"):
        yield Finding(
            route=ROUTE,
            note="torchtitan puts no older weights back for old log-probabilities",
            help="use fsdp2, megatron or veomni, or set algorithm.rollout_correction.bypass: true",
            related=(("hardware.rollout.placement", "separate"),),
        )
