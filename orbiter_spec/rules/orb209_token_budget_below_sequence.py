"""token budget is smaller than one sequence

## What it checks

Where passes are filled by tokens, the budget of each role times its sequence-parallel size holds the longest prompt
and response together.

## Why it matters

verl packs whole sequences. The first answer that comes near its limit stops the run, often hours in.

## Bad

```yaml
agent: {limits: {prompt_tokens: 1024, response_tokens: 8192}}
hardware: {train: {micro_batch: {tokens: 8192}}}
```

## Good

```yaml
agent: {limits: {prompt_tokens: 1024, response_tokens: 8192}}
hardware: {train: {micro_batch: {tokens: 9216}}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

SECTIONS = (("train", "train"), ("rollout", "train"), ("reference", "reference"))


def check(plan: Plan) -> Iterator[Finding]:
    """Compare each role's budget with the longest sequence."""
    longest = facts.longest_sequence(plan)
    wrong = plan.get("hardware.train.micro_batch.tokens")
    for section, role in SECTIONS:
        if role not in facts.roles(plan) or not facts.is_dynamic(plan, f"hardware.{section}"):
            continue
        route = f"hardware.{section}.micro_batch.tokens"
        tokens, shared = plan.get(route), facts.shape(plan, role).sequence_parallel
        follows = section != "train" and route not in plan.given and tokens == wrong
        if tokens is None or tokens * shared >= longest or follows:
            continue
        yield Finding(
            route=route,
            note=f"{tokens} x {shared} = {tokens * shared} tokens for a sequence of up to {longest}",
            help=f"use at least {-(-longest // shared)}, or lower the limits",
            related=(("agent.limits.response_tokens", f"prompt and response may reach {longest} tokens"),),
        )
