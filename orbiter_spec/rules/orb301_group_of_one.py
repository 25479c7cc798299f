"""group algorithm with one answer per prompt

## What it checks

Algorithms that compare the answers to one prompt have `samples_per_prompt` of at least 2.

## Why it matters

A group of one has nothing to compare. Pass@k refuses it in the first step; the others run, with advantages that are
the raw reward or always zero.

## Bad

```yaml
algorithm: {name: grpo, batch: {samples_per_prompt: 1}}
```

## Good

```yaml
algorithm: {name: grpo, batch: {samples_per_prompt: 8}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Count the answers of a group."""
    if not facts.group(plan) or facts.samples(plan) > 1 or facts.is_on(plan, "algorithm.distillation"):
        return
    refused = plan.get("algorithm.estimator") == "grpo_passk"
    yield Finding(
        route="algorithm.batch.samples_per_prompt",
        note=f"{plan.get('algorithm.name')} compares the answers to a prompt, and there is 1",
        help="use 8, or at least 2",
        related=(("algorithm.name", "a group algorithm"),),
        severity=Severity.ERROR if refused else Severity.WARNING,
    )
