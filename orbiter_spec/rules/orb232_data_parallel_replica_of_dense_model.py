"""data-parallel replica of a model without experts

## What it checks

`hardware.rollout.data_parallel` above 1 goes with a mixture-of-experts model.

## Why it matters

It multiplies the GPUs of one replica, for experts to be spread over. A dense model gets fewer replicas for it, and
some of their engines get no prompts.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct}
hardware: {rollout: {tensor_parallel: 1, data_parallel: 2}}
```

## Good

```yaml
agent: {model: Qwen/Qwen3-30B-A3B}
hardware: {rollout: {tensor_parallel: 1, data_parallel: 2}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the size with the model's experts."""
    size = int(plan.get("hardware.rollout.data_parallel") or 1)
    if size == 1 or plan.model is None or plan.model.experts > 0:
        return
    replicas = plan.gpus // facts.replica_gpus(plan)
    yield Finding(
        route="hardware.rollout.data_parallel",
        note=f"{replicas} replicas instead of {replicas * size}, for a model without experts",
        help="leave it out",
        related=(("agent.model.path", "a dense model"),),
        severity=Severity.WARNING,
    )
