"""multi-turn answers without rollout correction

## What it checks

An agent with tools comes with `algorithm.rollout_correction`.

## Why it matters

The inference engine and the trainer give the same tokens slightly different probabilities. Tokens are kept as they were
generated from turn to turn, so nothing worse is added, but episodes are long, tools add text that the model would not
have written, and what differs multiplies over the tokens of an answer. Runs with many turns have seen the gradient norm
blow up from it.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct, function_tools: tools.py, limits: {response_tokens: 4096}}
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct, function_tools: tools.py, limits: {response_tokens: 4096}}
algorithm: {rollout_correction: {importance: token}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look for a correction beside tools."""
    if plan.on_cpu or not facts.has_tools(plan) or plan.get("algorithm.rollout_correction") is not None:
        return
    routes = ("agent.tools", "agent.tool_config", "agent.function_tools")
    route = next(name for name in routes if plan.get(name))
    yield Finding(
        route=route,
        note="several turns, and no correction of the rollout's probabilities",
        help="consider algorithm.rollout_correction: {importance: token}",
        severity=Severity.NOTE,
    )
