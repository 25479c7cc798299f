"""router replay that cannot work

## What it checks

`router_replay.mode` is disabled, R2 or R3; R2 does not stand beside `bypass_mode`; R3 has routes from the rollout
(`enable_rollout_routing_replay`, which TensorRT-LLM does not have); VeOmni has padding removed with it; it is not
combined with `pad_to_length` under Megatron. FSDP and torchtitan replay nothing, and what
is recorded is replayed.

## Why it matters

R2 records routes in a forward pass that bypass skips, and R3 looks for those of the rollout. verl refuses some of these
at start and some in the first pass over the answers.

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
actor_rollout_ref.rollout.enable_rollout_routing_replay: true
algorithm.rollout_correction.bypass_mode: true
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding

SWITCH = "actor_rollout_ref.rollout.enable_rollout_routing_replay"
MODES = ("disabled", "R2", "R3")


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the actor's engine."""
    strategy = str(settings.get("actor_rollout_ref.actor.strategy", "fsdp"))
    home = f"actor_rollout_ref.actor.{'fsdp_config' if strategy.startswith('fsdp') else strategy}"
    key = f"{home}.router_replay.mode"
    mode = settings.get(key, "disabled")
    if mode not in MODES:
        yield KeyFinding(key, f"{key} = {mode!r}", f"use {', '.join(MODES)}")
    elif mode != "disabled" and strategy not in ("megatron", "veomni"):
        note = f"{strategy} replays no routes"
        yield KeyFinding(key, note, "leave it out, or use megatron", severity=Severity.WARNING)
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
    if mode == "R3" and strategy in ("megatron", "veomni"):
        yield from _recorded(settings, key)
    elif settings.get(SWITCH) and not settings.get("actor_rollout_ref.rollout.moe_load_balance_metrics_interval"):
        note = f"routes are recorded, and {key} is {mode}"
        yield KeyFinding(SWITCH, note, "leave it out, or replay them with R3", severity=Severity.WARNING)


def _recorded(settings: Mapping[str, Any], mode: str) -> Iterator[KeyFinding]:
    """R3 takes the routes that came with the answers; verl raises where there are none."""
    engine = "actor_rollout_ref.rollout.name"
    if settings.get(engine) == "trtllm":
        yield KeyFinding(mode, "TensorRT-LLM records no routes", "use R2, or vllm", related=((engine, "trtllm"),))
    elif not settings.get(SWITCH):
        yield KeyFinding(mode, "R3 finds no routes of the rollout", f"set {SWITCH} to true, or use R2")
