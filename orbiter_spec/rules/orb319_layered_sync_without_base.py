"""layer-by-layer adapter sync over an empty engine

## What it checks

`agent.model.lora.layered_summon` comes with a `hardware.rollout.load_format` that loads weights, such as
`safetensors`.

## Why it matters

Sent layer by layer, only adapters reach the engine. verl starts it with dummy weights unless told otherwise, and
raises in the first sync.

## Bad

```yaml
agent: {model: {path: Qwen/Qwen2.5-7B-Instruct, lora: {rank: 32, layered_summon: true}}}
```

## Good

```yaml
agent: {model: {path: Qwen/Qwen2.5-7B-Instruct, lora: {rank: 32, layered_summon: true}}}
hardware: {rollout: {load_format: safetensors}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the sync with how the engine starts."""
    load = plan.get("hardware.rollout.load_format") or "dummy"
    if not plan.get("agent.model.lora.layered_summon") or "dummy" not in load:
        return
    yield Finding(
        route="agent.model.lora.layered_summon",
        note=f"load_format is {load}: the engine has no base weights",
        help="write hardware.rollout.load_format: safetensors",
        related=(("hardware.rollout.load_format", load),),
    )
