"""model with no or several architectures

## What it checks

config.json of a local model names exactly one architecture.

## Why it matters

verl asserts it in the task runner, once the cluster is up.

## Bad

```yaml
agent: {model: two-architectures}
```

## Good

```yaml
agent: {model: one-architecture}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.model_facts import model_facts


def check(plan: Plan) -> Iterator[Finding]:
    """Count the architectures."""
    known = model_facts(plan)
    if known.architectures is None or len(known.architectures) == 1:
        return
    yield Finding(
        route="agent.model.path",
        note=f"config.json names {len(known.architectures)} architectures",
        help="write agent.model.config_overrides: {architectures: [...]} with the one to load, or repair config.json",
    )
