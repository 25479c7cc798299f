"""expert routing that is recorded and not replayed

## What it checks

`hardware.rollout.routing_replay` comes with `router_replay: {mode: R3}` among the further keys of Megatron or VeOmni.

## Why it matters

The rollout records which experts each token took. Without the mode the update routes anew, and the recording only
costs time. FSDP cannot replay at all.

## Bad

```yaml
hardware: {rollout: {routing_replay: true}}
```

## Good

```yaml
hardware: {train: {engine: megatron, megatron: {router_replay: {mode: R3}}}, rollout: {routing_replay: true}}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look for the mode that replays."""
    engine = facts.train_engine(plan)
    recorded = plan.get("hardware.rollout.routing_replay")
    mode = plan.get("hardware.train.router_replay.mode") or _mode(plan.get(f"hardware.train.{engine}"))
    if recorded and mode != "R3":
        able = engine in ("megatron", "veomni")
        cure = (
            f"write hardware.train.{engine}: {{router_replay: {{mode: R3}}}}"
            if able
            else "leave it out, or use engine: megatron"
        )
        yield Finding(
            route="hardware.rollout.routing_replay",
            note="the update does not replay it" if able else f"{engine} cannot replay it",
            help=cure,
            related=(("hardware.train.engine", engine),),
            severity=Severity.WARNING,
        )
    if mode == "R2" and plan.get("algorithm.rollout_correction.bypass"):
        yield Finding(
            route="algorithm.rollout_correction.bypass",
            note="R2 records routes in a forward pass that bypass skips",
            help="leave bypass out, or use mode: R3",
            related=((f"hardware.train.{engine}", "router_replay.mode is R2"),),
        )


def _mode(further: object) -> str:
    replay = further.get("router_replay") if isinstance(further, Mapping) else None
    return str(replay.get("mode", "disabled")) if isinstance(replay, Mapping) else "disabled"
