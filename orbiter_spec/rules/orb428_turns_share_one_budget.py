"""turns that do not fit the response limit

## What it checks

With tools, the answers of tools alone (turns x parallel calls x characters, at four characters a token) leave at
least half of `limits.response_tokens` for the model, and `turns.max` is not 1.

## Why it matters

All turns and tool answers share one budget. A conversation that outgrows it is cut in the middle, without a final
answer, and scored as it is. With one turn the model never sees what a tool said.

## Bad

```yaml
agent:
  model: Qwen/Qwen2.5-7B-Instruct
  function_tools: tools.py
  turns: {max: 16, tool_response_characters: 1024}
  limits: {response_tokens: 2048}
```

## Good

```yaml
agent:
  model: Qwen/Qwen2.5-7B-Instruct
  function_tools: tools.py
  turns: {max: 8, tool_response_characters: 1024}
  limits: {response_tokens: 8192}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

CHARACTERS_PER_TOKEN = 4


def check(plan: Plan) -> Iterator[Finding]:
    """Compare what tools may say with the budget."""
    turns = plan.get("agent.turns.max")
    if not facts.has_tools(plan) or turns is None:
        return
    if turns == 1:
        yield Finding(
            route="agent.turns.max",
            note="the conversation ends before a tool's answer is read",
            help="use 2 or more",
            severity=Severity.WARNING,
        )
        return
    calls, characters = (
        plan.get("agent.turns.max_parallel_tool_calls") or 1,
        plan.get("agent.turns.tool_response_characters") or 256,
    )
    spoken = (turns - 1) * calls * characters // CHARACTERS_PER_TOKEN
    budget = facts.number(plan, "agent.limits.response_tokens")
    if spoken * 2 <= budget:
        return
    yield Finding(
        route="agent.limits.response_tokens",
        note=f"tools alone may say {spoken} of {budget} tokens",
        help=f"use {2 * spoken} or more, fewer turns or shorter tool answers",
        related=(("agent.turns.max", f"{turns} turns"),),
        severity=Severity.WARNING,
    )
