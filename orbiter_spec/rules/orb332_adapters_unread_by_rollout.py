"""adapters that the inference engine does not load

## What it checks

With `hardware.rollout.engine: trtllm` adapters are merged before they are sent: `agent.model.lora.merge: true`.

## Why it matters

verl sends adapters apart from the weights, and what it starts of TensorRT-LLM knows no adapters: answers do not come
from the model that is trained.

## Bad

```yaml
agent: {model: {path: Qwen/Qwen2.5-7B-Instruct, lora: {rank: 32}}}
hardware: {rollout: {engine: trtllm}}
```

## Good

```yaml
agent: {model: {path: Qwen/Qwen2.5-7B-Instruct, lora: {rank: 32, merge: true}}}
hardware: {rollout: {engine: trtllm}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

MERGE = "agent.model.lora.merge"


def check(plan: Plan) -> Iterator[Finding]:
    """Compare adapters with the engine that answers."""
    if facts.has_lora(plan) and plan.get("hardware.rollout.engine") == "trtllm" and not plan.get(MERGE):
        yield Finding(
            route="agent.model.lora",
            note="sent as adapters, which TensorRT-LLM is not given",
            help=f"set {MERGE}: true",
            related=(("hardware.rollout.engine", "trtllm"),),
            severity=Severity.WARNING,
        )
