"""engine that this machine cannot run

## What it checks

On `accelerator: cpu` training uses FSDP2, or FSDP, and the rollout uses transformers, with one process a replica and
padding kept, and adapters are merged before they are sent. On GPUs the rollout uses vLLM, SGLang or TensorRT-LLM.

## Why it matters

The other engines need CUDA kernels, and transformers takes whole weights, no adapters. On GPUs verl has no transformers
rollout and stops when workers start.

## Bad

```yaml
hardware: {accelerator: H100, rollout: {engine: transformers}}
```

## Good

```yaml
hardware: {accelerator: H100, rollout: {engine: vllm}}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

ON_CPU: tuple[tuple[str, tuple[Any, ...], str], ...] = (
    ("hardware.train.engine", ("fsdp2", "fsdp"), "fsdp2"),
    ("hardware.rollout.engine", ("transformers", "vllm"), "transformers"),
    ("hardware.rollout.placement", ("colocated",), "colocated"),
    ("hardware.train.remove_padding", (False, None), "false"),
    ("hardware.train.fused_kernels", (False, None), "false"),
    ("hardware.train.liger", (False, None), "false"),
    ("hardware.rollout.quantization", (None,), "none"),
)


def check(plan: Plan) -> Iterator[Finding]:
    """Compare engines with the machine."""
    if plan.on_cpu:
        for route, usable, cure in ON_CPU:
            if plan.get(route) not in usable:
                yield _finding(route, f"{plan.get(route)} needs a GPU", f"write {cure}, or leave it out")
        attention = plan.get("agent.model.attention")
        if str(attention).startswith("flash"):
            yield _finding("agent.model.attention", f"{attention} needs a GPU", "write sdpa, or leave it out")
        if _sends_adapters(plan):
            yield _finding("agent.model.lora", "transformers takes whole weights", "add merge: true to it")
    elif plan.get("hardware.rollout.engine") == "transformers":
        yield _finding("hardware.rollout.engine", "transformers is the CPU engine", "use vllm or sglang")


def _sends_adapters(plan: Plan) -> bool:
    """True when the CPU's own engine would be sent an adapter instead of weights."""
    own = plan.get("hardware.rollout.engine") == "transformers"
    return own and plan.experiment.agent.model.lora is not None and not plan.get("agent.model.lora.merge")


def _finding(route: str, note: str, cure: str) -> Finding:
    return Finding(route=route, note=note, help=cure, related=(("hardware.accelerator", "the machine"),))
