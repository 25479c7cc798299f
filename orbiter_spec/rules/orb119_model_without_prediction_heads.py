"""model without multi-token prediction heads

## What it checks

`agent.model.mtp` is used with a model whose config.json has such layers.

## Why it matters

The engine finds none when it builds the model, and raises.

## Bad

```yaml
agent: {model: {path: one-architecture, mtp: {train: true}}}
```

## Good

```yaml
agent: {model: {path: with-heads, mtp: {train: true}}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.model_facts import model_facts


def check(plan: Plan) -> Iterator[Finding]:
    """Count the layers."""
    known = model_facts(plan)
    if not facts.is_on(plan, "agent.model.mtp") or known.mtp_layers is None or known.mtp_layers > 0:
        return
    yield Finding(
        route="agent.model.mtp",
        note="config.json has no layers for it",
        help="leave it out, or use a model that has them",
        related=(("agent.model.path", "the model"),),
    )
