"""agent loop that cannot run beside what it stands with

## What it checks

`agent.environment` and `agent.tools` stand alone: not beside `loop` or `loop_config`, and `tools` not beside
`tool_config`. The target is a verl whose loop they extend (0.9.1).

## Why it matters

An environment, and tools that are functions, run in a loop that comes along with the compiled folder. verl takes one
loop and one file of tools; the other would be dropped without a word. Earlier releases keep the tokens of a
conversation in another way, and every sample would fail.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct, tools: [tools.py:search], loop: tool_agent}
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct, tools: [tools.py:search]}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

RELEASE = "0.9.1"


def check(plan: Plan) -> Iterator[Finding]:
    """Look for a second loop and a second file of tools."""
    own = next((route for route in ("agent.environment", "agent.tools") if plan.get(route)), None)
    if own is None:
        return
    if plan.release != RELEASE:
        yield Finding(
            route=own,
            note=f"the loop that runs it extends verl {RELEASE}, and the target is {plan.release}",
            help=f'use verl.version: "{RELEASE}", or a loop of verl\'s own with function_tools',
        )
    for route in ("agent.loop", "agent.loop_config"):
        if plan.get(route) is not None:
            yield Finding(
                route=route,
                note=f"{own} brings a loop of its own",
                help="leave it out",
                related=((own, "and this is the other"),),
            )
    if plan.get("agent.tools") and plan.get("agent.tool_config") is not None:
        yield Finding(
            route="agent.tool_config",
            note="tools are written down in a file of their own",
            help="move its tools to agent.tools, as {class: file.py:Name, config: {...}}",
            related=(("agent.tools", "and these are the others"),),
        )
