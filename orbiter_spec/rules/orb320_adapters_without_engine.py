"""adapters that the training engine does not make

## What it checks

`agent.model.lora` goes with FSDP or Megatron.

## Why it matters

torchtitan and VeOmni train the full weights all the same, and the KL term is then measured against the moving actor.

## Bad

```yaml
agent: {model: {path: Qwen/Qwen2.5-7B-Instruct, lora: {rank: 32}}}
hardware: {train: {engine: torchtitan, shard_size: 8}}
```

## Good

```yaml
agent: {model: {path: Qwen/Qwen2.5-7B-Instruct, lora: {rank: 32}}}
hardware: {train: {engine: fsdp2}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Compare adapters with the engine."""
    engine = facts.train_engine(plan)
    if not facts.has_lora(plan) or engine not in ("torchtitan", "veomni"):
        return
    yield Finding(
        route="agent.model.lora",
        note=f"{engine} trains the full weights all the same",
        help="use engine: fsdp2, or leave lora out",
        related=(("hardware.train.engine", engine),),
        severity=Severity.WARNING,
    )
