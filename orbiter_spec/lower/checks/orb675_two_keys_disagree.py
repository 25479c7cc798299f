"""two keys for one thing that disagree

## What it checks

Where verl has an old key beside a new one, or copies one section into another, both say the same:
`warmup_style` and `lr_scheduler_type`, `grad_clip` and `clip_grad` of an optimiser, the actor's own
`ulysses_sequence_parallel_size` and its engine's, the engine's `strategy` and the role's, `use_remove_padding` and
`use_fused_kernels` of the actor and of the model, and the rollout's lengths and the data's.

## Why it matters

One of them wins without a word: the old name over the new one, the role over its engine, the model over the actor. Of
lengths both are used, prompts are filtered by one and cut by the other.

## Bad

```yaml
actor_rollout_ref.actor.optim.lr_scheduler_type: cosine
actor_rollout_ref.actor.optim.warmup_style: constant
```

## Good

```yaml
actor_rollout_ref.actor.optim.lr_scheduler_type: cosine
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic

ACTOR, MODEL, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.model", "actor_rollout_ref.rollout"
FSDP = ("fsdp", "fsdp2", "fsdp_turbo")
MODEL_DEFAULTS = {f"{MODEL}.use_remove_padding": True, f"{MODEL}.use_fused_kernels": False}


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare each pair where both are written."""
    for winner, loser, default in _pairs(settings):
        kept, lost = settings.get(winner, MODEL_DEFAULTS.get(winner)), settings.get(loser, default)
        if kept is None or lost is None or lost == default or kept == lost:
            continue
        yield KeyFinding(
            loser,
            f"{lost!r}, and {winner} = {kept!r} is what counts",
            f"set {winner}, and leave {loser} out",
            related=((winner, f"{kept!r}"),),
            severity=Severity.WARNING,
        )
    for word in ("prompt_length", "response_length"):
        key, source = f"{ROLLOUT}.{word}", f"data.max_{word}"
        limit, filtered = settings.get(key), settings.get(source, 512)
        if limit is not None and filtered is not None and limit != filtered:
            note = f"{limit} tokens, and {source} = {filtered}"
            related = ((source, f"{filtered} tokens"),)
            yield KeyFinding(
                key, note, f"leave it out, which takes {source}", related=related, severity=Severity.WARNING
            )


def _pairs(settings: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """The key that wins, the one that loses, and what the loser is when it is left out."""
    for role, section in ((ACTOR, "fsdp_config"), *((("critic", "fsdp"),) if uses_critic(settings) else ())):
        if settings.get(f"{role}.strategy", "fsdp") not in FSDP:
            continue
        yield f"{role}.optim.warmup_style", f"{role}.optim.lr_scheduler_type", "constant"
        yield f"{role}.optim.grad_clip", f"{role}.optim.clip_grad", 1.0
        yield f"{role}.strategy", f"{role}.{section}.strategy", "fsdp"
    if (settings.get(f"{ACTOR}.ulysses_sequence_parallel_size") or 1) > 1:
        yield f"{ACTOR}.ulysses_sequence_parallel_size", f"{ACTOR}.fsdp_config.ulysses_sequence_parallel_size", 1
    for winner, default in MODEL_DEFAULTS.items():
        yield winner, winner.replace(MODEL, ACTOR), settings.get(winner, default)
