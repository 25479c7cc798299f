"""budget that holds no whole sequence

## What it checks

The numbers as verl will have them, wherever they were written: where passes are filled by tokens, the budgets of the
actor, its log-probabilities and the reference, times the sequence-parallel size, hold the longest prompt and response;
the engine's `max_model_len` holds a prompt and one token.

## Why it matters

The first sequence beyond a budget stops the run, often hours in. A prompt that fills the engine gets no answer.

## Bad

```yaml
actor_rollout_ref.actor.ppo_max_token_len_per_gpu: 1024
data.max_prompt_length: 1024
data.max_response_length: 1024
```

## Good

```yaml
actor_rollout_ref.actor.ppo_max_token_len_per_gpu: 2048
data.max_prompt_length: 1024
data.max_response_length: 1024
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.sizes import ACTOR, REFERENCE, ROLLOUT, count, roles, workers

LIMIT = f"{ROLLOUT}.max_model_len"
ENOUGH = 16_384


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare budgets and the engine's limit with the longest sequence."""
    prompt = count(settings, f"{ROLLOUT}.prompt_length", count(settings, "data.max_prompt_length", 512) or 0)
    answer = count(settings, f"{ROLLOUT}.response_length", count(settings, "data.max_response_length", 512) or 0)
    if not prompt or not answer:
        return
    limit = count(settings, LIMIT, prompt + answer)
    if limit and limit <= prompt:
        yield KeyFinding(LIMIT, f"{limit} tokens for a prompt of {prompt}", f"use {prompt + answer}, or null")
    for key, shared in _budgets(settings):
        tokens = count(settings, key, ENOUGH)
        if tokens and tokens * shared < prompt + answer:
            note = f"{tokens} x {shared} tokens for a sequence of up to {prompt + answer}"
            yield KeyFinding(key, note, f"use at least {-(-(prompt + answer) // shared)}")


def _budgets(settings: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """The budgets that are written, and the GPUs that share one sequence; one left out follows the actor's."""
    actor = workers(settings, ACTOR)
    if actor is None or not settings.get(f"{ACTOR}.use_dynamic_bsz"):
        return
    first = f"{ACTOR}.ppo_max_token_len_per_gpu"
    yield first, actor.sequence_parallel
    reference = workers(settings, REFERENCE) if REFERENCE in roles(settings) else None
    for home, role in ((ROLLOUT, actor), (REFERENCE, reference)):
        key, follows = f"{home}.log_prob_max_token_len_per_gpu", settings.get(f"{home}.log_prob_use_dynamic_bsz", True)
        if role is not None and follows and settings.get(key) not in (None, settings.get(first, ENOUGH)):
            yield key, role.sequence_parallel
