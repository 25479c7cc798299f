"""environment and its reward do not meet

## What it checks

The built-in reward `environment` comes with `agent.environment`; and with an environment, not all parts of the reward
are built-ins that see only the text.

## Why it matters

Without an environment there is no return, and every sample fails in its reward. With one whose return no part reads,
the model is trained on something else and the environment's rewards are thrown away.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct, environment: envs.py:TextGame, turns: {max: 8}}
rewards: [{builtin: length_penalty, args: {target: 256}}]
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct, environment: envs.py:TextGame, turns: {max: 8}}
rewards: [{builtin: environment}]
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the parts of the reward with the environment."""
    parts = facts.reward_parts(plan)
    reads = any(part.builtin == "environment" for part in parts)
    if reads and not plan.get("agent.environment"):
        yield Finding(
            route="rewards",
            note="there is no agent.environment whose return this could be",
            help="name one: agent.environment: envs.py:TextGame",
        )
    if plan.get("agent.environment") and parts and not reads and all(part.builtin for part in parts):
        yield Finding(
            route="rewards",
            note="no part reads what the environment gives",
            help="add {builtin: environment}",
            related=(("agent.environment", "its rewards are thrown away"),),
            severity=Severity.WARNING,
        )
