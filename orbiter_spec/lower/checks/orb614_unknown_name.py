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
from orbiter_spec.lower.checks.roles import uses_critic, uses_reference
from orbiter_spec.spec.names import (
    AGGREGATIONS,
    ESTIMATORS,
    LOSSES,
    OWN_TOOL_FORMATS,
    REWARD_MANAGERS,
    TOOL_FORMATS,
    TRAINER_MODES,
)

ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
TURNS = f"{ROLLOUT}.multi_turn"
KL = ("kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3")
KL_NAMES = (*KL, *(f"{name}+" for name in KL))
FSDP = ("fsdp", "fsdp2", "fsdp_turbo")
STRATEGIES = (*FSDP, "megatron", "veomni", "torchtitan", "automodel")
PRECISIONS = ("bf16", "bfloat16", "fp16", "float16", "16", "fp32", "float32", "32", 16, 32)
MEGATRON_PRECISIONS = ("bfloat16", "float16")
REGISTERED = ("algorithm.adv_estimator", f"{ACTOR}.policy_loss.loss_mode")
NAMES: Mapping[str, tuple[Any, ...]] = {
    "trainer.v1.trainer_mode": TRAINER_MODES,
    "trainer.resume_mode": ("auto", "disable", "resume_path"),
    "trainer.v1.sampler.max_off_policy_strategy": ("drop", "wait"),
    "algorithm.adv_estimator": ESTIMATORS,
    "algorithm.kl_penalty": KL_NAMES,
    "algorithm.kl_ctrl.type": ("fixed", "adaptive"),
    f"{ACTOR}.kl_loss_type": KL_NAMES,
    f"{ACTOR}.policy_loss.loss_mode": LOSSES,
    f"{ACTOR}.loss_agg_mode": AGGREGATIONS,
    f"{ACTOR}.strategy": STRATEGIES,
    "critic.strategy": STRATEGIES,
    "actor_rollout_ref.rollout.name": ("vllm", "sglang", "trtllm", "hf", "???"),
    f"{TURNS}.format": (*TOOL_FORMATS, *OWN_TOOL_FORMATS),
    "reward.reward_manager.name": REWARD_MANAGERS,
    "reward.reward_manager.source": ("register", "importlib"),
    "algorithm.pf_ppo.reweight_method": ("pow", "max_min", "max_random"),
    "algorithm.rollout_correction.loss_type": ("ppo_clip", "reinforce"),
    "algorithm.rollout_correction.rollout_is": ("token", "sequence"),
    "global_profiler.tool": ("nsys", "npu", "torch", "torch_memory", "precision_debugger"),
    "distillation.distillation_loss.policy_loss_mode": ("vanilla",),
    "distillation.distillation_loss.loss_mode": ("forward_kl_topk", *KL),
    "reward.reward_model.rollout.name": ("vllm", "sglang", "trtllm", "???"),
    "actor_rollout_ref.rollout.checkpoint_engine.backend": (
        "naive",
        "nccl",
        "nixl",
        "mooncake",
        "kimi_ckpt_engine",
        "delta_sharded",
    ),
    "actor_rollout_ref.rollout.dtype": ("auto", "half", "float16", "bfloat16", "float", "float32"),
    "actor_rollout_ref.ref.strategy": STRATEGIES,
    "critic.loss_agg_mode": AGGREGATIONS,
    **dict.fromkeys(
        (f"skip.{name}.action" for name in ("rollout", "rollout_tq", "async_rollout")), ("cache", "repeat")
    ),
    "transfer_queue.backend.storage_backend": ("SimpleStorage", "Yuanrong", "MooncakeStore"),
    f"{ACTOR}.fsdp_config.dtype": PRECISIONS,
    f"{ACTOR}.fsdp_config.model_dtype": PRECISIONS,
    "actor_rollout_ref.ref.fsdp_config.dtype": PRECISIONS,
    "actor_rollout_ref.ref.fsdp_config.model_dtype": PRECISIONS,
    f"{ACTOR}.megatron.dtype": MEGATRON_PRECISIONS,
    "actor_rollout_ref.ref.megatron.dtype": MEGATRON_PRECISIONS,
    "critic.megatron.dtype": MEGATRON_PRECISIONS,
    "critic.fsdp.dtype": PRECISIONS,
    "critic.fsdp.model_dtype": PRECISIONS,
    f"{ACTOR}.fsdp_config.strategy": FSDP,
    f"{ACTOR}.optim.warmup_style": ("constant", "cosine"),
    f"{ACTOR}.torchtitan.attn_type": ("flex", "flex_flash", "varlen"),
    f"{ACTOR}.torchtitan.spmd_backend": ("default", "full_dtensor", "spmd_types"),
    f"{ACTOR}.torchtitan.activation_checkpoint": ("selective", "full", "none"),
    f"{ACTOR}.torchtitan.reshard_after_forward": ("default", "always", "never"),
    f"{ACTOR}.veomni.init_device": ("meta", "cpu", "cuda", "npu"),
    f"{ACTOR}.automodel.distributed_strategy": ("fsdp2", "megatron_fsdp", "ddp"),
    f"{ROLLOUT}.logprobs_mode": ("processed_logprobs", "raw_logprobs", "processed_logits", "raw_logits"),
    f"{ROLLOUT}.scheduling_policy": ("fcfs", "priority"),
    f"{ROLLOUT}.disaggregation.mooncake_protocol": ("nvlink", "local", "rdma", "tcp"),
    **{
        f"{section}.mixed_precision.{word}_dtype": PRECISIONS
        for section in (f"{ACTOR}.fsdp_config", "actor_rollout_ref.ref.fsdp_config", "critic.fsdp")
        for word in ("param", "reduce", "buffer")
    },
}
ONLY_WITH: Mapping[str, tuple[str, Any]] = {
    "algorithm.kl_penalty": ("algorithm.use_kl_in_reward", True),
    "algorithm.kl_ctrl.type": ("algorithm.use_kl_in_reward", True),
    f"{ACTOR}.kl_loss_type": (f"{ACTOR}.use_kl_loss", True),
    "distillation.distillation_loss.policy_loss_mode": ("distillation.enabled", True),
    "distillation.distillation_loss.loss_mode": ("distillation.enabled", True),
    "reward.reward_model.rollout.name": ("reward.reward_model.enable", True),
    "actor_rollout_ref.rollout.checkpoint_engine.backend": (
        "actor_rollout_ref.rollout.checkpoint_engine.custom_backend_module",
        None,
    ),
    "actor_rollout_ref.rollout.dtype": ("actor_rollout_ref.rollout.name", "vllm"),
    f"{ROLLOUT}.logprobs_mode": (f"{ROLLOUT}.name", "vllm"),
    f"{ROLLOUT}.scheduling_policy": (f"{ROLLOUT}.name", "vllm"),
    f"{ROLLOUT}.disaggregation.mooncake_protocol": (f"{ROLLOUT}.disaggregation.transfer_backend", "mooncake"),
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
        if not _is_on(key, settings):
            continue
        close = nearest(str(value), map(str, names))
        severity = Severity.WARNING if imported and key in REGISTERED else Severity.ERROR
        note = f"{key} = {value!r}" + (f"; did you mean {close!r}?" if close else "")
        yield KeyFinding(key, note, f"use {', '.join(str(name) for name in names if name != '???')}", severity=severity)


def _is_on(key: str, settings: Mapping[str, Any]) -> bool:
    """True when the role, the engine or the loop that reads `key` is built."""
    if key == f"{TURNS}.format":
        tools = settings.get(f"{TURNS}.tool_config_path") or settings.get(f"{TURNS}.function_tool_path")
        return bool(tools) or settings.get("actor_rollout_ref.rollout.agent.default_agent_loop") == "tool_agent"
    role = "critic" if key.startswith("critic.") else "actor_rollout_ref.ref"
    if key.startswith(f"{role}.") and not (uses_critic if role == "critic" else uses_reference)(settings):
        return False
    engine = settings.get("critic.strategy" if role == "critic" and key.startswith("critic.") else f"{ACTOR}.strategy")
    if ".megatron." in key:
        return engine == "megatron"
    return ".fsdp" not in key or engine in (None, *FSDP)
