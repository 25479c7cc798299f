"""key that nothing reads

## What it checks

Keys without a reader in this release keep their default.

## Why it matters

The value changes nothing, and nothing says so. Often another key does what was meant.

## Bad

```yaml
actor_rollout_ref.actor.grad_clip: 0.5
```

## Good

```yaml
actor_rollout_ref.actor.optim.clip_grad: 0.5
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic

DEAD: Mapping[str, tuple[Any, str]] = {
    "actor_rollout_ref.actor.grad_clip": (1.0, "set actor_rollout_ref.actor.optim.clip_grad"),
    "critic.grad_clip": (1.0, "set critic.optim.clip_grad"),
    "actor_rollout_ref.actor.use_prefix_grouper": (False, "leave it out"),
    "actor_rollout_ref.actor.freeze_vision_tower": (False, "leave it out; the whole model trains"),
    "actor_rollout_ref.nccl_timeout": (600, "leave it out"),
    "actor_rollout_ref.rollout.do_sample": (True, "set actor_rollout_ref.rollout.temperature to 0"),
    "actor_rollout_ref.rollout.over_sample_rate": (0, "leave it out"),
    "actor_rollout_ref.rollout.multi_stage_wake_up": (False, "leave it out"),
    "actor_rollout_ref.rollout.multi_turn.tokenization_sanity_check_mode": ("strict", "leave it out"),
    "actor_rollout_ref.rollout.multi_turn.num_repeat_rollouts": (None, "leave it out"),
    "actor_rollout_ref.rollout.multi_turn.use_inference_chat_template": (False, "leave it out"),
    "critic.ulysses_sequence_parallel_size": (1, "set critic.fsdp.ulysses_sequence_parallel_size"),
    "data.reward_fn_key": ("data_source", "name the column data_source"),
    "data.return_raw_input_ids": (False, "leave it out"),
    "data.tokenizer": (None, "set actor_rollout_ref.model.tokenizer_path"),
    "trainer.balance_batch": (True, "leave it out; the trainer always balances"),
    "trainer.default_hdfs_dir": (None, "copy checkpoints yourself"),
    "trainer.esi_redundant_time": (0, "leave it out"),
    "trainer.ray_wait_register_center_timeout": (300, "leave it out"),
    "actor_rollout_ref.model.tiled_mlp.enabled": (False, "leave it out; fewer tokens a pass take less memory"),
    "actor_rollout_ref.rollout.agent.custom_async_server.path": (None, "leave it out"),
    "actor_rollout_ref.rollout.repetition_penalty": (1.0, "leave it out; answers are drawn without one"),
    "actor_rollout_ref.rollout.trace.backend": (None, "leave it out; only the older trainer traces agent loops"),
    "actor_rollout_ref.rollout.checkpoint_manager_class": (None, "leave it out; only the older trainer loads one"),
    "actor_rollout_ref.rollout.standalone_gpu_memory_utilization": (
        None,
        "set actor_rollout_ref.rollout.gpu_memory_utilization",
    ),
    "actor_rollout_ref.model.override_config.moe_config.freeze_moe_router": (
        False,
        "set actor_rollout_ref.actor.megatron.override_mcore_model_config.moe_config.freeze_moe_router",
    ),
    "actor_rollout_ref.actor.megatron.router_replay.record_file": (None, "leave it out; routes travel with the batch"),
    "actor_rollout_ref.actor.megatron.router_replay.replay_file": (None, "leave it out; routes travel with the batch"),
    "critic.model.tiled_mlp.enabled": (False, "leave it out"),
    "critic.nccl_timeout": (600, "leave it out"),
    "data.return_full_prompt": (False, "leave it out"),
    "data.return_multi_modal_inputs": (True, "leave it out"),
    "data.return_raw_chat": (True, "leave it out; rows always keep it"),
    "skip.async_rollout.enable": (False, "set skip.rollout_tq.enable"),
    "skip.rollout.enable": (False, "set skip.rollout_tq.enable"),
}
FOLLOWS: Mapping[str, tuple[str, Any]] = {
    "critic.forward_micro_batch_size_per_gpu": ("critic.ppo_micro_batch_size_per_gpu", None),
    "critic.forward_max_token_len_per_gpu": ("critic.ppo_max_token_len_per_gpu", 32_768),
}
"""Dead keys that take another's value, or a number of their own, where they are left out."""
COVERED = "critic.fsdp.ulysses_sequence_parallel_size"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look for values other than the default."""
    if settings.get("trainer.use_v1") is False:
        return
    for key, (default, cure) in DEAD.items():
        value = settings.get(key, default)
        if value == default or (key.startswith("critic.ulysses") and settings.get(COVERED) == value):
            continue
        if key.startswith("critic.") and not uses_critic(settings):
            continue
        yield KeyFinding(key, f"{key} = {value!r} has no reader", cure, severity=Severity.WARNING)
    for key, (source, default) in FOLLOWS.items():
        value = settings.get(key)
        if uses_critic(settings) and value not in (None, default, settings.get(source)):
            cure = "set critic.ppo_infer_max_token_len_per_gpu"
            yield KeyFinding(key, f"{key} = {value!r} has no reader", cure, severity=Severity.WARNING)
    cap = settings.get("algorithm.filter_groups.max_num_gen_batches")
    if settings.get("algorithm.filter_groups.enable") and cap:
        key = "algorithm.filter_groups.max_num_gen_batches"
        yield KeyFinding(key, f"{key} = {cap} is no limit here", "leave it out", severity=Severity.WARNING)
