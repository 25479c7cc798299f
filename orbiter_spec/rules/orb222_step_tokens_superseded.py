"""the engine's step is smaller than a sequence that may not be split

## What it checks

With `hardware.rollout.chunked_prefill: false`, `max_batched_tokens` is at least `max_sequence_tokens`.

## Why it matters

verl raises `max_batched_tokens` to the sequence limit without asking, so the memory it was meant to save is used.

## Bad

```yaml
agent: {limits: {prompt_tokens: 8192, response_tokens: 8192}}
hardware: {rollout: {chunked_prefill: false, max_batched_tokens: 8192}}
```

## Good

```yaml
agent: {limits: {prompt_tokens: 8192, response_tokens: 8192}}
hardware: {rollout: {chunked_prefill: true, max_batched_tokens: 8192}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Compare the step with a whole sequence."""
    route = "hardware.rollout.max_batched_tokens"
    step, longest = int(plan.get(route) or 8192), plan.get("hardware.rollout.max_sequence_tokens")
    if plan.get("hardware.rollout.chunked_prefill") is not False or longest is None or step >= longest:
        return
    yield Finding(
        route=route if route in plan.given else "hardware.rollout.chunked_prefill",
        note=f"{step} becomes {longest}, the longest sequence",
        help="leave chunked_prefill out, or write " + f"max_batched_tokens: {longest}",
        related=(("hardware.rollout.max_sequence_tokens", f"{longest} tokens in one piece"),),
        severity=Severity.WARNING,
    )
