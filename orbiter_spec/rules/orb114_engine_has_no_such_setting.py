"""setting that the training engine does not have

## What it checks

Settings of `hardware.train`, its reference and critic, and of `algorithm.optimizer` that belong to one engine are
written for that engine.

## Why it matters

What an engine does not know is not handed on: a tensor-parallel size under FSDP changes nothing, and the memory it
was to save is used.

## Bad

```yaml
hardware: {train: {engine: fsdp2, tensor_parallel: 2}}
```

## Good

```yaml
hardware: {train: {engine: megatron, tensor_parallel: 2}}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

FSDP = ("fsdp", "fsdp2")
SHARDED = (*FSDP, "veomni")
ENGINE_WORDS: Mapping[str, tuple[str, ...]] = {
    "tensor_parallel": ("megatron", "torchtitan"),
    "pipeline_parallel": ("megatron", "torchtitan"),
    "virtual_pipeline": ("megatron",),
    "context_parallel": ("megatron", "torchtitan"),
    "expert_parallel": ("megatron", "veomni", "torchtitan"),
    "expert_tensor_parallel": ("megatron",),
    "sequence_parallel": SHARDED,
    "shard_size": (*SHARDED, "torchtitan"),
    "model_dtype": FSDP,
    "forward_prefetch": (*SHARDED, "torchtitan"),
    "entropy_checkpointing": FSDP,
    "megatron": ("megatron",),
    "veomni": ("veomni",),
    "torchtitan": ("torchtitan",),
    "fsdp": FSDP,
}
OPTIMIZER_WORDS: Mapping[str, tuple[str, ...]] = {
    "implementation": FSDP,
    "min_ratio": (*FSDP, "torchtitan"),
    "min_rate": ("megatron", "veomni"),
    "decay_steps": ("megatron",),
    "cycles": FSDP,
}
LORA_WORDS = ("dropout", "kind", "a_init", "fully_sharded")


def check(plan: Plan) -> Iterator[Finding]:
    """Compare every setting that was written with the engines that know it."""
    sections = {f"hardware.{role}": ENGINE_WORDS for role in ("train", "reference", "critic")}
    sections |= {f"{home}.optimizer": OPTIMIZER_WORDS for home in ("algorithm", "algorithm.critic")}
    sections["agent.model.lora"] = dict.fromkeys(LORA_WORDS, ("megatron",)) | {"merge": ("megatron", *FSDP)}
    for section, words in sections.items():
        for word, engines in words.items():
            route = f"{section}.{word}"
            if plan.get(route) not in (None, 1, False) and route in plan.given:
                yield from _compare(plan, route, engines)


def _compare(plan: Plan, route: str, engines: tuple[str, ...]) -> Iterator[Finding]:
    engine = facts.train_engine(plan)
    if engine in engines:
        return
    yield Finding(
        route=route,
        note=f"{engine} has no such setting",
        help=f"leave it out, or use engine: {' or '.join(engines)}",
        related=(("hardware.train.engine", engine),),
        severity=Severity.WARNING,
    )
