"""adapter rank that the engine does not serve

## What it checks

With vLLM, `agent.model.lora.rank` is at most 512, unless adapters are merged before they are sent.

## Why it matters

vLLM reserves room for adapters by rank, up to 512. verl refuses more at start.

## Bad

```yaml
agent: {model: {path: Qwen/Qwen2.5-7B-Instruct, lora: {rank: 1024}}}
```

## Good

```yaml
agent: {model: {path: Qwen/Qwen2.5-7B-Instruct, lora: {rank: 512}}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

MOST = 512


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the rank with vLLM's most."""
    rank = plan.get("agent.model.lora.rank")
    merged = plan.get("agent.model.lora.merge")
    if rank is None or rank <= MOST or merged or plan.get("hardware.rollout.engine") != "vllm":
        return
    yield Finding(
        route="agent.model.lora.rank",
        note=f"{rank} is above {MOST}",
        help=f"use {MOST} or less",
        related=(("hardware.rollout.engine", "vllm"),),
    )
