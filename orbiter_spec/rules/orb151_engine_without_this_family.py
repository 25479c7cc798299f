"""model family that the training engine does not build

## What it checks

With `engine: torchtitan` the `model_type` of the model's config.json, where it is known, is one that torchtitan has:
Llama, Qwen 2 and 3 with and without experts, DeepSeek-V3 or GPT-OSS.

## Why it matters

torchtitan builds models of its own. verl looks the family up when the engine is made, on every worker.

## Bad

```yaml
agent: {model: google/gemma-2-2b-it}
hardware: {train: {engine: torchtitan, shard_size: 8}}
```

## Good

```yaml
agent: {model: Qwen/Qwen3-4B}
hardware: {train: {engine: torchtitan, shard_size: 8}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

FAMILIES = ("qwen2", "qwen3", "qwen2_moe", "qwen3_moe", "llama", "llama4", "deepseek_v3", "gpt_oss")


def check(plan: Plan) -> Iterator[Finding]:
    """Look the family up."""
    if facts.train_engine(plan) != "torchtitan" or plan.model is None or plan.model.architecture in FAMILIES:
        return
    yield Finding(
        route="hardware.train.engine",
        note=f"torchtitan has no {plan.model.architecture}",
        help="use fsdp2, or another model",
        related=(("agent.model.path", plan.model.architecture),),
    )
