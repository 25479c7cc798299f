"""penalty window that does not fit the response limit

## What it checks

`overlong.buffer_tokens` is at most `overlong.max_tokens`, which is the response limit.

## Why it matters

verl asserts the first in its reward workers. A limit other than the response limit applies the penalty always, or
never.

## Bad

```yaml
algorithm: {name: grpo, overlong: {buffer_tokens: 1024}}
```

## Good

```yaml
algorithm: {name: grpo, overlong: {buffer_tokens: 128}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Compare window, limit and response limit."""
    if not facts.is_on(plan, "algorithm.overlong"):
        return
    response = facts.number(plan, "agent.limits.response_tokens")
    limit, window = plan.get("algorithm.overlong.max_tokens"), int(plan.get("algorithm.overlong.buffer_tokens"))
    if window > (limit or response):
        yield Finding(
            route="algorithm.overlong.buffer_tokens",
            note=f"{window} tokens before a limit of {limit or response}",
            help=f"use less than {limit or response}, such as {max(1, (limit or response) // 4)}",
            related=(("agent.limits.response_tokens", f"{response}"),),
        )
    elif limit is not None and limit != response:
        yield Finding(
            route="algorithm.overlong.max_tokens",
            note=f"answers end at {response}, the penalty at {limit}",
            help=f"use {response}, or leave it out",
            related=(("agent.limits.response_tokens", f"{response}"),),
            severity=Severity.WARNING,
        )
