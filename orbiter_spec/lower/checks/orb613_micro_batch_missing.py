"""micro-batch that is missing or given twice

## What it checks

Where a role counts sequences it has its micro-batch per GPU, and not the deprecated global one, alone or beside it.

## Why it matters

verl looks at the actor's at start. The others it asserts, without a message, when the worker is built.

## Bad

```yaml
actor_rollout_ref.actor.use_dynamic_bsz: false
actor_rollout_ref.actor.ppo_micro_batch_size: 64
```

## Good

```yaml
actor_rollout_ref.actor.use_dynamic_bsz: false
actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu: 8
actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu: 8
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_adapters, uses_critic, uses_reference

ACTOR, ROLLOUT, REFERENCE = "actor_rollout_ref.actor", "actor_rollout_ref.rollout", "actor_rollout_ref.ref"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at each role that counts sequences."""
    roles = [
        (f"{ACTOR}.use_dynamic_bsz", f"{ACTOR}.ppo_micro_batch_size"),
        (f"{ROLLOUT}.log_prob_use_dynamic_bsz", f"{ROLLOUT}.log_prob_micro_batch_size"),
    ]
    if uses_reference(settings) and not uses_adapters(settings):
        roles.append((f"{REFERENCE}.log_prob_use_dynamic_bsz", f"{REFERENCE}.log_prob_micro_batch_size"))
    if uses_critic(settings):
        roles.append(("critic.use_dynamic_bsz", "critic.ppo_micro_batch_size"))
    actor = bool(settings.get(f"{ACTOR}.use_dynamic_bsz", False))
    for switch, old in roles:
        if settings.get(switch, actor):
            continue
        each, whole = settings.get(f"{old}_per_gpu"), settings.get(old)
        if each is None:
            note = f"only the deprecated {old} is set" if whole is not None else f"{old}_per_gpu is not set"
            yield KeyFinding(f"{old}_per_gpu", note, f"set {old}_per_gpu, or fill passes by tokens")
        elif whole is not None and not (old == "critic.ppo_micro_batch_size" and whole == each):
            yield KeyFinding(old, f"{old} = {whole} beside {old}_per_gpu = {each}", f"leave {old} out")
