"""GPU without flash attention

## What it checks

On GPUs older than Ampere (V100, T4, P100, RTX 20) `agent.model.attention` is not flash attention, which is also what
is used when it is left out, and there is no critic.

## Why it matters

FlashAttention 2 needs compute capability 8.0. Loading the model fails, on every worker.

## Bad

```yaml
hardware: 8xV100
```

## Good

```yaml
hardware: 8xV100
agent: {model: {path: Qwen/Qwen2.5-0.5B-Instruct, attention: sdpa}}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

OLD = re.compile(r"^(tesla-)?(v100|t4|p100|p40|k80|m60|rtx-?20\d\d|titan-?(v|xp|rtx)|gtx)", re.IGNORECASE)


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the GPU with the attention that will be used."""
    accelerator, attention = str(plan.get("hardware.accelerator") or ""), plan.get("agent.model.attention")
    if not OLD.match(accelerator) or (attention and not str(attention).startswith("flash")):
        return
    yield Finding(
        route="agent.model.attention" if attention else "hardware.accelerator",
        note=f"{accelerator} is older than Ampere, and attention is {attention or 'flash_attention_2'}",
        help="write agent.model.attention: sdpa",
        related=(("agent.model.path", "the model that is loaded"),),
    )
