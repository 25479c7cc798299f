"""model path ends in a slash

## What it checks

`agent.model.path`, and the critic's, do not end in `/`, unless they name a folder of this machine.

## Why it matters

verl's download helper asserts it, after Ray and the task runner have started.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-0.5B-Instruct/}
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-0.5B-Instruct}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look at the last character of each path as verl will see it."""
    for route in ("agent.model.path", "algorithm.critic.model.path"):
        path = str(plan.path(route) or "")
        if path.endswith("/"):
            yield Finding(route=route, note="the last character is a slash", help=f"write {path.rstrip('/')}")
