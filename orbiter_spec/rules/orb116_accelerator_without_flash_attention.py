"""GPU without flash attention

## What it checks

On GPUs older than Ampere (V100, T4, P100, RTX 20) `agent.model.attention` is not flash attention, which is also what
is used when it is left out, and there is no critic.

## Why it matters

FlashAttention 2 needs compute capability 8.0. Loading the model fails, on every worker.

## Bad

```yaml
hardware: {accelerator: V100, gpus_per_node: 8, rollout: {dtype: float16}}
```

## Good

```yaml
hardware: {accelerator: V100, gpus_per_node: 8, rollout: {dtype: float16}}
agent: {model: {path: Qwen/Qwen2.5-0.5B-Instruct, attention: sdpa}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the GPU with the attention that will be used."""
    accelerator, attention = str(plan.get("hardware.accelerator") or ""), plan.get("agent.model.attention")
    if not facts.is_before_ampere(accelerator) or (attention and not str(attention).startswith("flash")):
        return
    yield Finding(
        route="agent.model.attention" if attention else "hardware.accelerator",
        note=f"{accelerator} is older than Ampere, and attention is {attention or 'flash_attention_2'}",
        help="write agent.model.attention: sdpa",
        related=(("agent.model.path", "the model that is loaded"),),
    )
