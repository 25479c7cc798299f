"""router replay that cannot work

## What it checks

`router_replay.mode` is disabled, R2 or R3; R2 does not stand beside `bypass_mode`; VeOmni has padding removed with
it; it is not combined with `pad_to_length` under Megatron.

## Why it matters

R2 records routes in a forward pass that bypass skips. verl refuses some of these at start and some in the first
update.

## Bad

```yaml
actor_rollout_ref.actor.strategy: megatron
actor_rollout_ref.actor.megatron.router_replay.mode: R2
algorithm.rollout_correction.bypass_mode: true
```

## Good

```yaml
actor_rollout_ref.actor.strategy: megatron
actor_rollout_ref.actor.megatron.router_replay.mode: R3
algorithm.rollout_correction.bypass_mode: true
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding

MODES = ("disabled", "R2", "R3")


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the actor's engine."""
    strategy = str(settings.get("actor_rollout_ref.actor.strategy", "fsdp"))
    home = f"actor_rollout_ref.actor.{'fsdp_config' if strategy.startswith('fsdp') else strategy}"
    key = f"{home}.router_replay.mode"
    mode = settings.get(key, "disabled")
    if mode not in MODES:
        yield KeyFinding(key, f"{key} = {mode!r}", f"use {', '.join(MODES)}")
    elif mode == "R2" and settings.get("algorithm.rollout_correction.bypass_mode"):
        note = "R2 records routes in a pass that bypass skips"
        yield KeyFinding(
            "algorithm.rollout_correction.bypass_mode", note, "set it to false, or use R3", related=((key, mode),)
        )
    elif (
        mode != "disabled"
        and strategy == "veomni"
        and not settings.get("actor_rollout_ref.model.use_remove_padding", True)
    ):
        yield KeyFinding(
            "actor_rollout_ref.model.use_remove_padding", "routing is replayed on packed rows", "set it to true"
        )
    elif mode != "disabled" and strategy == "megatron" and settings.get(f"{home}.pad_to_length"):
        yield KeyFinding(f"{home}.pad_to_length", "padded rows have no routes to replay", "set it to false")
