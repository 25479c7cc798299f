"""engine's step that is smaller than its requests

## What it checks

Under vLLM `max_num_batched_tokens` is at least `max_num_seqs`, for the rollout, reward models and teachers that are on.

## Why it matters

Every request takes at least one token of a step. vLLM refuses the pair when the server starts, after the actor is
loaded.

## Bad

```yaml
actor_rollout_ref.rollout.max_num_batched_tokens: 512
actor_rollout_ref.rollout.max_num_seqs: 1024
```

## Good

```yaml
actor_rollout_ref.rollout.max_num_batched_tokens: 8192
actor_rollout_ref.rollout.max_num_seqs: 1024
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import engine_of, engines_served
from orbiter_spec.lower.checks.sizes import count


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare the two numbers of each vLLM."""
    for home in engines_served(settings):
        if engine_of(settings, home) != "vllm":
            continue
        step, requests = f"{home}.max_num_batched_tokens", f"{home}.max_num_seqs"
        tokens, most = count(settings, step, 8192), count(settings, requests, 256)
        if tokens and most and tokens < most:
            note = f"{tokens} tokens a step for {most} requests"
            yield KeyFinding(step, note, f"use at least {most}, or fewer requests", related=((requests, f"{most}"),))
