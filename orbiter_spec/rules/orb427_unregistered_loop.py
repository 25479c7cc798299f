"""agent loop that nothing registers

## What it checks

`agent.loop` is single_turn_agent or tool_agent, unless `agent.loop_config` registers more.

## Why it matters

The name is looked up for every sample; each of them fails, and the run ends without one answer.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct, loop: react_agent}
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct, loop: react_agent, loop_config: loops.yaml}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import nearest
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

KNOWN = ("single_turn_agent", "tool_agent")


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the name with the loops that are there."""
    name = plan.get("agent.loop")
    if name is None or name in KNOWN or plan.get("agent.loop_config") is not None:
        return
    close = nearest(name, KNOWN)
    yield Finding(
        route="agent.loop",
        note=f"{name!r} is not registered" + (f"; did you mean {close!r}?" if close else ""),
        help=f"use {' or '.join(KNOWN)}, or register it with loop_config",
    )
