"""the critic's token budget is smaller than one sequence

## What it checks

With a critic, `critic.ppo_infer_max_token_len_per_gpu` (32768 when left out) times its sequence-parallel size holds
the longest prompt and response.

## Why it matters

The critic fills its passes by this budget alone, in training as well; its micro-batches are not read. The first
sequence beyond it stops the run.

## Bad

```yaml
algorithm.adv_estimator: gae
data.max_prompt_length: 2048
data.max_response_length: 32768
actor_rollout_ref.actor.ppo_max_token_len_per_gpu: 34816
```

## Good

```yaml
algorithm.adv_estimator: gae
data.max_prompt_length: 2048
data.max_response_length: 32768
actor_rollout_ref.actor.ppo_max_token_len_per_gpu: 34816
critic.ppo_infer_max_token_len_per_gpu: 34816
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic

KEY = "critic.ppo_infer_max_token_len_per_gpu"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare the budget with the longest sequence."""
    if not uses_critic(settings):
        return
    shared = settings.get("critic.fsdp.ulysses_sequence_parallel_size", 1) or 1
    longest = sum(settings.get(f"data.max_{word}_length") or 512 for word in ("prompt", "response"))
    budget = settings.get(KEY, 32_768)
    if budget * shared < longest:
        note = f"{budget} x {shared} tokens for a sequence of up to {longest}"
        yield KeyFinding(KEY, note, f"set {KEY} to at least {-(-longest // shared)}")
