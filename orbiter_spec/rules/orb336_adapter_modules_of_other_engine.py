"""adapter modules named in another engine's words

## What it checks

`agent.model.lora.targets` names modules as the training engine has them: `q_proj`, `up_proj` and the like, or
`all-linear`, under FSDP; `linear_qkv`, `linear_proj`, `linear_fc1` and `linear_fc2` under Megatron.

## Why it matters

Megatron has no module of that name, and no weight gets an adapter; peft refuses a list in which no name is found. Both
come after the model is loaded.

## Bad

```yaml
agent: {model: {path: Qwen/Qwen2.5-7B-Instruct, lora: {rank: 32, targets: [q_proj, v_proj]}}}
hardware: {train: {engine: megatron}}
```

## Good

```yaml
agent: {model: {path: Qwen/Qwen2.5-7B-Instruct, lora: {rank: 32, targets: [linear_qkv]}}}
hardware: {train: {engine: megatron}}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

ROUTE = "agent.model.lora.targets"
OF_MEGATRON = re.compile(r"\b(linear_(qkv|q|k|v|proj|fc1|fc2|fc1_up|fc1_gate))\b")
OF_TRANSFORMERS = re.compile(r"\b(all-linear|[qkvo]_proj|(gate|up|down|qkv|gate_up)_proj|c_attn|query_key_value)\b")


def check(plan: Plan) -> Iterator[Finding]:
    """Look for words of the other engine."""
    said, engine = plan.get(ROUTE), facts.train_engine(plan)
    if not facts.has_lora(plan) or said is None or ROUTE not in plan.given:
        return
    names = [said] if isinstance(said, str) else [str(name) for name in said]
    megatron = engine == "megatron"
    if not megatron and not engine.startswith("fsdp"):
        return
    foreign = [name for name in names if (OF_TRANSFORMERS if megatron else OF_MEGATRON).search(name)]
    if foreign:
        words = "linear_qkv, linear_proj, linear_fc1, linear_fc2" if megatron else "all-linear, or names as q_proj"
        refused = not megatron and len(foreign) == len(names)
        yield Finding(
            route=ROUTE,
            note=f"{engine} has no {', '.join(foreign)}",
            help=f"use {words}",
            related=(("hardware.train.engine", engine),),
            severity=Severity.ERROR if refused else Severity.WARNING,
        )
