"""reward model on a machine without GPUs

## What it checks

On `accelerator: cpu` no model scores or judges answers beside the policy (`rewards.model`).

## Why it matters

verl serves such a model with vLLM, SGLang or TensorRT-LLM on GPUs, its own or the training's; the engine that stands
for them on a CPU serves the policy only.

## Bad

```yaml
rewards: {parts: [{name: graded, judge: {rubric: "Grade {{ response }}."}}], model: {path: Qwen/Qwen3-32B}}
hardware: cpu
```

## Good

```yaml
rewards: {parts: [{name: graded, judge: {address: "http://localhost:8000/v1", model: Qwen/Qwen3-32B}}]}
hardware: cpu
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look for a model on a CPU, and say what can stand for it there."""
    model = plan.experiment.rewards.model
    if model is None or not plan.on_cpu:
        return
    judged = any(part.judge is not None for part in facts.reward_parts(plan))
    cure = (
        "give the judge the address of a service that has it" if judged else "try the run with a function or built-in"
    )
    yield Finding(
        route="rewards.model",
        note=f"{model.path or 'this model'} needs GPUs to be served",
        help=f"{cure}, and leave rewards.model out",
        related=(("hardware.accelerator", "the machine"),),
    )
