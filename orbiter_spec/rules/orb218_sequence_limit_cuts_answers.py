"""the engine's sequence limit is below the token limits

## What it checks

`hardware.rollout.max_sequence_tokens` holds the longest prompt, at least one token more, and the response limit.

## Why it matters

A prompt that fills the engine leaves nothing to generate: the sample fails. Below the sum of both limits, answers to
long prompts are cut short, and longer budgets in the spec do nothing.

## Bad

```yaml
agent: {limits: {prompt_tokens: 1024, response_tokens: 1024}}
hardware: {rollout: {max_sequence_tokens: 1024}}
```

## Good

```yaml
agent: {limits: {prompt_tokens: 1024, response_tokens: 1024}}
hardware: {rollout: {max_sequence_tokens: 2048}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

ROUTE = "hardware.rollout.max_sequence_tokens"


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the engine's limit with prompt and response."""
    limit, prompt = plan.get(ROUTE), facts.number(plan, "agent.limits.prompt_tokens")
    longest = facts.longest_sequence(plan)
    if limit is None or limit >= longest:
        return
    left = limit - prompt
    yield Finding(
        route=ROUTE,
        note=f"{limit} holds a prompt of {prompt} and {max(0, left)} of {longest - prompt} response tokens",
        help=f"use {longest}, or leave it out",
        related=(("agent.limits.response_tokens", f"{longest - prompt} tokens are allowed"),),
        severity=Severity.ERROR if left < 1 else Severity.WARNING,
    )
