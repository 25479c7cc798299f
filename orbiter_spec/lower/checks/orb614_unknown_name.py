"""name that verl does not know

## What it checks

Keys that take one of a few names have one of them. A package that may register more (`external_lib`) turns losses and
estimators into warnings.

## Why it matters

Most are looked up in the first step or later, after everything else is up.

## Bad

```yaml
trainer.v1.trainer_mode: colocated_async
```

## Good

```yaml
trainer.v1.trainer_mode: colocate_async
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity, nearest
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic
from orbiter_spec.spec.names import AGGREGATIONS, ESTIMATORS, LOSSES, REWARD_MANAGERS, TOOL_FORMATS, TRAINER_MODES

ACTOR = "actor_rollout_ref.actor"
KL = ("kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3")
KL_NAMES = (*KL, *(f"{name}+" for name in KL))
REGISTERED = ("algorithm.adv_estimator", f"{ACTOR}.policy_loss.loss_mode")
NAMES: Mapping[str, tuple[str, ...]] = {
    "trainer.v1.trainer_mode": TRAINER_MODES,
    "trainer.resume_mode": ("auto", "disable", "resume_path"),
    "trainer.v1.sampler.max_off_policy_strategy": ("drop", "wait"),
    "algorithm.adv_estimator": ESTIMATORS,
    "algorithm.kl_penalty": KL_NAMES,
    "algorithm.kl_ctrl.type": ("fixed", "adaptive"),
    f"{ACTOR}.kl_loss_type": KL_NAMES,
    f"{ACTOR}.policy_loss.loss_mode": LOSSES,
    f"{ACTOR}.loss_agg_mode": AGGREGATIONS,
    f"{ACTOR}.strategy": ("fsdp", "fsdp2", "fsdp_turbo", "megatron", "veomni", "torchtitan", "automodel"),
    "critic.strategy": ("fsdp", "fsdp2", "fsdp_turbo", "megatron", "veomni", "torchtitan", "automodel"),
    "actor_rollout_ref.rollout.name": ("vllm", "sglang", "trtllm", "hf", "???"),
    "actor_rollout_ref.rollout.multi_turn.format": TOOL_FORMATS,
    "reward.reward_manager.name": REWARD_MANAGERS,
    "reward.reward_manager.source": ("register", "importlib"),
    "algorithm.pf_ppo.reweight_method": ("pow", "max_min", "max_random"),
    "algorithm.rollout_correction.loss_type": ("ppo_clip", "reinforce"),
    "algorithm.rollout_correction.rollout_is": ("token", "sequence"),
    "global_profiler.tool": ("nsys", "npu", "torch", "torch_memory", "precision_debugger"),
    "distillation.distillation_loss.policy_loss_mode": ("vanilla",),
    f"{ACTOR}.torchtitan.attn_type": ("flex", "flex_flash", "varlen"),
    f"{ACTOR}.torchtitan.spmd_backend": ("default", "full_dtensor", "spmd_types"),
    f"{ACTOR}.torchtitan.activation_checkpoint": ("selective", "full", "none"),
    f"{ACTOR}.automodel.distributed_strategy": ("fsdp2", "megatron_fsdp", "ddp"),
}
ONLY_WITH: Mapping[str, tuple[str, Any]] = {
    "algorithm.kl_penalty": ("algorithm.use_kl_in_reward", True),
    "algorithm.kl_ctrl.type": ("algorithm.use_kl_in_reward", True),
    f"{ACTOR}.kl_loss_type": (f"{ACTOR}.use_kl_loss", True),
    "distillation.distillation_loss.policy_loss_mode": ("distillation.enabled", True),
    "reward.reward_manager.name": ("reward.reward_manager.source", "register"),
}


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare each key that is read with the names it may take."""
    imported = settings.get("actor_rollout_ref.model.external_lib") is not None
    for key, names in NAMES.items():
        value = settings.get(key)
        switch, needed = ONLY_WITH.get(key, ("", None))
        if value is None or value in names or (switch and settings.get(switch, needed) != needed):
            continue
        if key == "critic.strategy" and not uses_critic(settings):
            continue
        close = nearest(str(value), names)
        severity = Severity.WARNING if imported and key in REGISTERED else Severity.ERROR
        note = f"{key} = {value!r}" + (f"; did you mean {close!r}?" if close else "")
        yield KeyFinding(key, note, f"use {', '.join(name for name in names if name != '???')}", severity=severity)
