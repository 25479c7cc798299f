"""turns or tools that no loop uses

## What it checks

`agent.turns` comes with an environment, with tools or with a loop that has turns, and tools do not stand beside
`loop: single_turn_agent`.

## Why it matters

The single-turn loop answers once and knows no tools. Limits of turns, or tools, are read and then never used.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct, turns: {max: 4}}
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct, turns: {max: 4}, function_tools: tools.py, limits: {response_tokens: 4096}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Compare turns and tools with the loop."""
    loop, tools = plan.get("agent.loop"), facts.has_tools(plan) or facts.has_own_loop(plan)
    single = loop == "single_turn_agent" or (loop is None and not tools and plan.get("agent.loop_config") is None)
    if not single:
        return
    route = next(
        (
            name
            for name in ("agent.environment", "agent.tools", "agent.tool_config", "agent.function_tools")
            if plan.get(name)
        ),
        None,
    )
    if route is None and facts.is_on(plan, "agent.turns"):
        route = "agent.turns"
    if route is None:
        return
    yield Finding(
        route=route,
        note="the single-turn loop uses neither turns nor tools",
        help="use loop: tool_agent" if tools else "give tools or an environment, or leave it out",
        related=(("agent.loop", str(loop or "single_turn_agent")),),
        severity=Severity.WARNING,
    )
