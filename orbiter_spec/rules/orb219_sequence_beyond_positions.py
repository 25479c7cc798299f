"""sequences are longer than the model's positions

## What it checks

`hardware.rollout.max_sequence_tokens` is at most the model's `max_position_embeddings`, where config.json or the
table of known models tells it.

## Why it matters

verl compares them when the inference server starts, after the actor is loaded.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-Math-7B, limits: {prompt_tokens: 1024, response_tokens: 4000}}
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-Math-7B, limits: {prompt_tokens: 1024, response_tokens: 3072}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.model_facts import model_facts

ROUTE = "hardware.rollout.max_sequence_tokens"


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the engine's limit with the model's."""
    known, limit = model_facts(plan), plan.get(ROUTE)
    if known.positions is None or limit is None or limit <= known.positions:
        return
    prompt = facts.number(plan, "agent.limits.prompt_tokens")
    room = known.positions - prompt
    written = ROUTE in plan.given
    yield Finding(
        route=ROUTE if written else "agent.limits.response_tokens",
        note=f"{limit} tokens, and the model has {known.positions} positions",
        help=f"use at most {known.positions}" if written else f"use at most {room}" if room > 0 else "shorten prompts",
        related=(("agent.model.path", f"max_position_embeddings {known.positions}"),),
    )
