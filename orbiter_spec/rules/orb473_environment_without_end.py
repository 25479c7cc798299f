"""environment that only the token limit ends

## What it checks

An experiment with `agent.environment` says how many turns an episode has at most (`agent.turns.max`).

## Why it matters

An environment that is never done goes on until the response is full. Each turn reads the conversation anew, so a few
such episodes keep everybody waiting, and the last turn is cut in the middle.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct, environment: envs.py:TextGame}
rewards: [{builtin: environment}]
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
    """Look for a limit of turns."""
    if not plan.get("agent.environment") or plan.get("agent.turns.max") or plan.get("agent.turns.max_user"):
        return
    budget = facts.number(plan, "agent.limits.response_tokens")
    yield Finding(
        route="agent.environment",
        note=f"an episode may take as many turns as fit into {budget} tokens",
        help="say how many: turns: {max: 8}",
        severity=Severity.WARNING,
    )
