"""a phase needs more memory than the GPU has

## What it checks

The plan's estimate of each phase (rollout, log-probabilities, update) stays below the memory of the accelerator,
where the model and the accelerator are known.

## Why it matters

It is an estimate, with its assumptions named by `plan`. Where even its lower end is too much, the run ends out of
memory: at start, in the first update, or when the engine wakes up after it.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-72B-Instruct}
hardware: {accelerator: A100-40GB, rollout: {tensor_parallel: 8}}
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-0.5B-Instruct}
hardware: {accelerator: A100-40GB}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

GIGABYTE = 10**9


def check(plan: Plan) -> Iterator[Finding]:
    """Compare each phase with the accelerator."""
    memory = plan.memory
    if memory is None or memory.gpu_bytes is None or plan.on_cpu:
        return
    worst = max(memory.phases, key=lambda phase: phase.low, default=None)
    if worst is None or worst.low <= memory.gpu_bytes:
        return
    yield Finding(
        route="hardware.accelerator",
        note=f"{worst.name} needs at least {worst.low / GIGABYTE:.0f} of {memory.gpu_bytes / GIGABYTE:.0f} GB",
        help=_cure(plan, worst.name),
        related=(("agent.model.path", "the model"),),
        severity=Severity.WARNING,
    )


def _cure(plan: Plan, phase: str) -> str:
    """What most often helps in that phase."""
    if phase.startswith(("reward model", "teacher")):
        return "use a larger tensor_parallel for it, a smaller memory_fraction, or GPUs of its own"
    if phase == "rollout":
        return "use a larger hardware.rollout.tensor_parallel, or more GPUs"
    kept = not plan.get("hardware.train.offload.optimizer")
    return "write hardware.train.offload: all, or use more GPUs" if kept else "use more GPUs, or a lower token budget"
