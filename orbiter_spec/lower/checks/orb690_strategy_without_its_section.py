"""training engine without the section it is configured by

## What it checks

`strategy` of the actor, the reference and the critic is one that the rest of the role is made for: verl has one
configuration for FSDP, one for Megatron, one for VeOmni and one for torchtitan, and none for others.

## Why it matters

The name alone changes the engine and not its settings: workers fail where they look for the section, after Ray is up.

## Bad

```yaml
actor_rollout_ref.actor._target_: verl.workers.config.FSDPActorConfig
actor_rollout_ref.actor.strategy: megatron
```

## Good

```yaml
actor_rollout_ref.actor._target_: verl.workers.config.McoreActorConfig
actor_rollout_ref.actor.strategy: megatron
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic, uses_reference

MADE_FOR: Mapping[str, tuple[str, ...]] = {
    "FSDP": ("fsdp", "fsdp2", "fsdp_turbo"),
    "Mcore": ("megatron",),
    "VeOmni": ("veomni",),
    "TorchTitan": ("torchtitan",),
}
"""The start of a configuration's class, and the engines that read such a one."""
GROUPS: Mapping[str, str] = {"megatron": "megatron", "veomni": "veomni", "torchtitan": "torchtitan"}


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare each role's engine with its class."""
    roles = ["actor_rollout_ref.actor"]
    roles += ["actor_rollout_ref.ref"] if uses_reference(settings) else []
    roles += ["critic"] if uses_critic(settings) else []
    for role in roles:
        engine = settings.get(f"{role}.strategy")
        name = str(settings.get(f"{role}._target_", "")).rpartition(".")[2]
        fitting = next((engines for start, engines in MADE_FOR.items() if name.startswith(start)), None)
        follows = role != roles[0] and engine == settings.get(f"{roles[0]}.strategy")
        if engine is None or fitting is None or engine in fitting or follows:
            continue
        group = GROUPS.get(str(engine), "dp" if str(engine).startswith("fsdp") else "")
        cure = (
            f"choose the whole engine (hardware.train.engine in a spec, model_engine={group} for verl)"
            if group
            else "no section for it comes with verl"
        )
        yield KeyFinding(
            f"{role}.strategy",
            f"{engine}, and the settings are made for {', '.join(fitting)}",
            f"{cure}, or use {fitting[1] if len(fitting) > 1 else fitting[0]}",
        )
