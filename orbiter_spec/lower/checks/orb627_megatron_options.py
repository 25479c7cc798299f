"""Megatron setting that this release refuses

## What it checks

The types of the optimiser's state are fp32 or bf16, `use_mbridge` stays true, quantisation-aware training does not
use the legacy bridge, and Muon's scale is given once.

## Why it matters

verl asserts them when the workers are built.

## Bad

```yaml
actor_rollout_ref.actor.strategy: megatron
actor_rollout_ref.actor.optim.use_precision_aware_optimizer: true
actor_rollout_ref.actor.optim.exp_avg_dtype: fp8
```

## Good

```yaml
actor_rollout_ref.actor.strategy: megatron
actor_rollout_ref.actor.optim.use_precision_aware_optimizer: true
actor_rollout_ref.actor.optim.exp_avg_dtype: bf16
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic

TYPES = ("fp32", "float32", "32", "bf16", "bfloat16")


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the actor's and the critic's engine."""
    homes = [("actor_rollout_ref.actor", "actor_rollout_ref.actor.megatron")]
    if uses_critic(settings):
        homes.append(("critic", "critic.megatron"))
    for role, engine in homes:
        if settings.get(f"{role}.strategy") != "megatron":
            continue
        for word in ("main_grads_dtype", "exp_avg_dtype", "exp_avg_sq_dtype"):
            value = settings.get(f"{role}.optim.{word}", "fp32")
            if str(value) not in TYPES:
                yield KeyFinding(f"{role}.optim.{word}", f"{value!r} is no type for it", "use fp32 or bf16")
        if settings.get(f"{engine}.use_mbridge", True) is False:
            yield KeyFinding(f"{engine}.use_mbridge", "there is no other way to load weights", "set it to true")
        if settings.get(f"{engine}.qat.enable") and settings.get(f"{engine}.vanilla_mbridge"):
            note = "the legacy bridge cannot quantise"
            yield KeyFinding(
                f"{engine}.vanilla_mbridge", note, "set it to false", related=((f"{engine}.qat.enable", "true"),)
            )
        rank = settings.get("actor_rollout_ref.model.lora.rank") or 0
        if rank > 0 and role != "critic" and settings.get(f"{engine}.vanilla_mbridge"):
            note = "the legacy bridge makes no adapters"
            related = (("actor_rollout_ref.model.lora.rank", f"{rank}"),)
            yield KeyFinding(f"{engine}.vanilla_mbridge", note, "set it to false", related=related)
        scale = settings.get(f"{role}.optim.muon_extra_scale_factor", 1.0)
        if settings.get(f"{role}.optim.muon_match_adamw_update_rms") and scale != 1.0:
            note = f"{scale} beside a scale that is computed"
            yield KeyFinding(f"{role}.optim.muon_extra_scale_factor", note, "leave one of them out")
