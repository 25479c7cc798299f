"""share, rate or bound that verl or its engines refuse

## What it checks

Memory shares and `top_p` lie above 0 and at most at 1, temperatures, learning rates and weight decay are not
negative, `top_k` is -1, 0 or above (not 0 under SGLang), ports are ports, a bound of rollout correction is above 0, and
a loss scale is not 0. The same for validation, for the critic, and for the engines of reward models and teachers that
are on.

## Why it matters

vLLM and torch refuse them after the model is loaded; a temperature or a `top_p` out of range fails at the first answer.

## Bad

```yaml
actor_rollout_ref.rollout.gpu_memory_utilization: 1.5
```

## Good

```yaml
actor_rollout_ref.rollout.gpu_memory_utilization: 0.5
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import engines_served, uses_critic

ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
FSDP = ("fsdp", "fsdp2")
Range = tuple[Callable[[float], bool], str]
SHARE: Range = (lambda value: 0 < value <= 1, "above 0 and at most 1")
POSITIVE_OR_ZERO: Range = (lambda value: value >= 0, "0 or more")
FRACTION: Range = (lambda value: 0 <= value <= 1, "from 0 to 1")


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at each number that is read."""
    for key, (fits, words) in _ranges(settings):
        value = settings.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and not fits(value):
            yield KeyFinding(key, f"{key} = {value}", f"use a value {words}")


def _ranges(settings: Mapping[str, Any]) -> Iterator[tuple[str, Range]]:
    for home in engines_served(settings):
        yield f"{home}.gpu_memory_utilization", SHARE
    for home in (ROLLOUT, f"{ROLLOUT}.val_kwargs"):
        yield f"{home}.top_p", SHARE
        yield f"{home}.temperature", POSITIVE_OR_ZERO
        yield f"{home}.top_k", (lambda value: value >= -1, "-1 for all, or above")
        if settings.get(f"{ROLLOUT}.name") == "sglang":
            yield f"{home}.top_k", (lambda value: value != 0, "-1 for all, or above 0")
    if settings.get(f"{ROLLOUT}.prometheus.enable"):
        yield f"{ROLLOUT}.prometheus.port", (lambda value: 0 < value < 65_536, "from 1 to 65535")
    for role in (ACTOR, "critic") if uses_critic(settings) else (ACTOR,):
        if settings.get(f"{role}.strategy", "fsdp") in FSDP:
            yield f"{role}.optim.lr", POSITIVE_OR_ZERO
            yield f"{role}.optim.weight_decay", POSITIVE_OR_ZERO
            if settings.get(f"{role}.optim.lr_scheduler_type") == "cosine":
                yield f"{role}.optim.min_lr_ratio", FRACTION
    if settings.get("trainer.v1.trainer_mode") == "separate_async":
        yield "trainer.v1.separate_async.hybrid_rollout.switch_threshold_ratio", SHARE
    if settings.get("algorithm.rollout_correction.rollout_is") is not None:
        yield "algorithm.rollout_correction.rollout_is_threshold", (lambda value: value > 0, "above 0")
    if settings.get(f"{ACTOR}.loss_agg_mode") == "seq-mean-token-sum-norm":
        yield f"{ACTOR}.loss_scale_factor", (lambda value: value != 0, "other than 0, or null")
