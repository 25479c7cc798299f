"""pipeline stages do not divide the model's layers

## What it checks

Under Megatron `pipeline_parallel` divides the model's layers, with the embedding and the loss where they count as one
(`pipeline.count_embedding`, `pipeline.count_loss`). `pipeline.first_layers` and `pipeline.last_layers` are taken off
first; the stages between share the rest. `virtual_pipeline` divides the layers of every stage. A `pipeline.layout` says
otherwise and is not looked at.

## Why it matters

Megatron gives stages the same number of layers and asserts that they come out even, while the model is built.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct}
hardware: {train: {engine: megatron, pipeline_parallel: 8}}
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct}
hardware: {train: {engine: megatron, pipeline_parallel: 4, tensor_parallel: 2}}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.numbers import divisors, nearest_fitting

ENDS = ("first_layers", "last_layers")
SIZES = ("pipeline_parallel", "virtual_pipeline")


def check(plan: Plan) -> Iterator[Finding]:
    """Compare stages with layers, for the policy and its reference."""
    if facts.train_engine(plan) != "megatron" or plan.model is None:
        return
    for role in facts.roles(plan):
        home = f"hardware.{role}"
        own = {f"{home}.{word}" for word in (*SIZES, "pipeline")} & set(plan.given)
        if role == "train" or (role == "reference" and own):
            yield from _compare(plan, home, plan.model.layers)


def _compare(plan: Plan, home: str, layers: int) -> Iterator[Finding]:
    stages, virtual = (int(_said(plan, home, word) or 1) for word in SIZES)
    ends = [int(end) for word in ENDS if (end := _said(plan, home, f"pipeline.{word}"))]
    if stages == 1 or _is_laid_out(plan, home):
        return
    counted = () if ends else ("count_embedding", "count_loss")
    shared = layers - sum(ends) + sum(bool(_said(plan, home, f"pipeline.{word}")) for word in counted)
    between = stages - len(ends)
    route = f"{home}.pipeline_parallel"
    related = (("agent.model.path", f"{layers} layers"),)
    if shared < 0 or (shared % between if between else shared):
        usable = [size for size in divisors(shared) if plan.gpus % (size + len(ends)) == 0] if shared > 0 else []
        sizes = nearest_fitting([size + len(ends) for size in usable], stages)
        advice = f"use {sizes}, or say" if sizes else "say"
        yield Finding(
            route=route if route in plan.given else "hardware.train.pipeline_parallel",
            note=f"{shared} layers over {between} stages",
            help=f"{advice} in {home}.pipeline how layers are laid out",
            related=related,
        )
        return
    held = sorted({*ends, *([shared // between] if between else [])})
    if uneven := [size for size in held if size % virtual]:
        yield Finding(
            route=f"{home}.virtual_pipeline",
            note=f"{uneven[0]} layers of a stage in {virtual} parts",
            help=f"use {nearest_fitting(divisors(uneven[0]), virtual)}",
            related=related,
        )


def _said(plan: Plan, home: str, word: str) -> Any:
    """What is said for a role; the reference follows the policy where it says nothing."""
    own = plan.get(f"{home}.{word}")
    return plan.get(f"hardware.train.{word}") if own is None else own


def _is_laid_out(plan: Plan, home: str) -> bool:
    """True when a layout names every stage, or Megatron's own names say something about stages."""
    named = {**(_said(plan, home, "transformer") or {})}
    return bool(_said(plan, home, "pipeline.layout")) or any("pipeline" in key for key in named)
