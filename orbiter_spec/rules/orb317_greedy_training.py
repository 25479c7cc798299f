"""training on greedy answers

## What it checks

`agent.sampling.temperature` is above 0.

## Why it matters

Greedy answers to one prompt are all the same, so groups teach nothing, and verl divides the logits by the temperature
when it computes probabilities. Megatron refuses 0.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-0.5B-Instruct, sampling: {temperature: 0}}
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-0.5B-Instruct, sampling: {temperature: 1.0}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look at the training temperature."""
    if plan.get("agent.sampling.temperature") != 0:
        return
    refused = facts.train_engine(plan) == "megatron"
    yield Finding(
        route="agent.sampling.temperature",
        note="0 is greedy: no two answers differ",
        help="use 1.0; greedy validation is run.evaluate.temperature: 0",
        severity=Severity.ERROR if refused else Severity.WARNING,
    )
