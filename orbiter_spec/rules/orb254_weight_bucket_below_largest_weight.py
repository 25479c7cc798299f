"""weight bucket smaller than the model's largest weight

## What it checks

With TensorRT-LLM, or the sync backend mooncake, `hardware.rollout.weight_bucket_megabytes` holds the model's embedding,
as it is sent: in float32 from FSDP (unless `model_dtype` says less), in bfloat16 from other engines and by mooncake.

## Why it matters

Other engines send a weight that is too large by itself. These two assert that it fits, in the first weight sync.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct}
hardware: {rollout: {engine: trtllm, weight_bucket_megabytes: 2048}}
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct}
hardware: {rollout: {engine: trtllm, weight_bucket_megabytes: 3072}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

ROUTE, BACKEND, ENGINE = (
    "hardware.rollout.weight_bucket_megabytes",
    "hardware.rollout.sync_backend",
    "hardware.rollout.engine",
)
DEFAULT_MEGABYTES = 2048
MEGABYTE = 1 << 20


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the bucket with the embedding."""
    tensorrt, mooncake = plan.get(ENGINE) == "trtllm", plan.get(BACKEND) == "mooncake"
    if plan.model is None or not (tensorrt or mooncake):
        return
    size = 2 if mooncake else _bytes(plan)
    needed = -(-plan.model.vocab * plan.model.hidden * size // MEGABYTE)
    bucket = int(plan.get(ROUTE) or DEFAULT_MEGABYTES)
    if needed > bucket:
        yield Finding(
            route=ROUTE,
            note=f"{bucket} MiB, and {plan.model.vocab} x {plan.model.hidden} numbers of {size} bytes are {needed} MiB",
            help=f"use {-(-needed // 1024) * 1024}",
            related=((BACKEND, "mooncake") if mooncake else (ENGINE, "trtllm"),),
        )


def _bytes(plan: Plan) -> int:
    """What FSDP keeps its weights in; others hand out bfloat16."""
    if not facts.train_engine(plan).startswith("fsdp"):
        return 2
    return 4 if plan.get("hardware.train.model_dtype", "fp32") == "fp32" else 2
