"""value that is needed and left null

## What it checks

What a setting that is on needs has a value: the clipping of gradients, the schedule, how the
loss is summed and, where passes are filled by tokens, their
budgets; the name of the reward function in its file; the file of a reward manager that is imported; the number of
logits of a distillation loss over the largest ones; the critic's model.

## Why it matters

verl asserts them, most without a message, when workers or reward loops are built, or in the first update.

## Bad

```yaml
actor_rollout_ref.actor.optim.clip_grad: null
```

## Good

```yaml
actor_rollout_ref.actor.optim.clip_grad: 1.0
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic

ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
FSDP = ("fsdp", "fsdp2", "fsdp_turbo")


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at what is null, and not merely left out."""
    for key, reason, cure in _needed(settings):
        if key in settings and settings[key] is None:
            yield KeyFinding(key, f"{key} is null: {reason}", f"set it, such as {cure}")


def _needed(settings: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for role in (ACTOR, "critic") if uses_critic(settings) else (ACTOR,):
        if settings.get(f"{role}.strategy", "fsdp") in FSDP:
            yield f"{role}.optim.clip_grad", "the update asserts it", "1.0"
            yield f"{role}.optim.lr_scheduler_type", "the schedule has no other default", "constant"
            yield (
                f"{role}.{'fsdp' if role == 'critic' else 'fsdp_config'}.strategy",
                "the engine is chosen by it",
                "fsdp",
            )
    yield f"{ACTOR}.loss_agg_mode", "the loss is summed by it", "token-mean"
    if settings.get(f"{ACTOR}.use_dynamic_bsz"):
        for key in (f"{ACTOR}.ppo_max_token_len_per_gpu", f"{ROLLOUT}.log_prob_max_token_len_per_gpu"):
            yield key, "passes are filled by tokens", "16384"
    if uses_critic(settings):
        yield "critic.model.path", "the critic is on", "the path of the policy"
    if settings.get("reward.custom_reward_function.path") is not None:
        yield "reward.custom_reward_function.name", "the file alone names no function", "compute_score"
    if settings.get("reward.reward_manager.source") == "importlib":
        yield "reward.reward_manager.module.path", "the manager is imported from it", "manager.py"
    if settings.get("distillation.enabled") and _mode(settings) == "forward_kl_topk":
        yield "distillation.distillation_loss.topk", "the loss is over the largest logits", "32"


def _mode(settings: Mapping[str, Any]) -> str:
    return str(settings.get("distillation.distillation_loss.loss_mode", "k3"))
