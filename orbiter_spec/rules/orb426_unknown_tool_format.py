"""tool format without a parser

## What it checks

`agent.turns.tool_format` is one of verl's parsers; with `agent.tools` also `plain` (for one tool) or `tags`.

## Why it matters

The parser is looked up for every sample; each of them fails, one by one, after generation has started.

## Bad

```yaml
agent:
  model: Qwen/Qwen2.5-7B-Instruct
  function_tools: tools.py
  turns: {tool_format: herms}
```

## Good

```yaml
agent:
  model: Qwen/Qwen2.5-7B-Instruct
  function_tools: tools.py
  turns: {tool_format: hermes}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity, nearest
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.spec.names import OWN_TOOL_FORMATS, TOOL_FORMATS


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the name with verl's parsers."""
    name = plan.get("agent.turns.tool_format")
    known = (*TOOL_FORMATS, *OWN_TOOL_FORMATS) if plan.get("agent.tools") else TOOL_FORMATS
    if name == "plain" and len(plan.get("agent.tools") or ()) > 1:
        yield Finding(
            route="agent.turns.tool_format",
            note="a whole turn cannot say which of several tools it calls",
            help="use tags, or give one tool",
        )
    if name is None or name in known:
        return
    close = nearest(name, known)
    yield Finding(
        route="agent.turns.tool_format",
        note=f"{name!r} is none of them" + (f"; did you mean {close!r}?" if close else ""),
        help=f"write {close}" if close else f"use {', '.join(known)}",
        severity=Severity.ERROR if _parses(plan) else Severity.WARNING,
    )


def _parses(plan: Plan) -> bool:
    """True when the loop with tools is sure to run; otherwise only rows that name it would make one."""
    own = plan.get("agent.tools") or plan.get("agent.environment")
    return bool(own) or facts.has_tools(plan) or plan.get("agent.loop") == "tool_agent"
