"""value behind a switch that is off

## What it checks

A value that only means something with a switch stands with it: a checkpoint to resume from with `resume_mode`, a
teacher with `distillation.enabled`, a reward model's path with its `enable`, a function's name and arguments with its
file, the name of a class of rows with its file, a manager's file with its source, settings of a trainer mode with that
mode, rollout nodes and a backend of the weight sync with the separate one, metrics of experts with recorded routes, a
length that rows are padded to with the padding, types of the optimiser's state with the optimiser that keeps them, and
words of Muon with Muon.

## Why it matters

The run starts and does without it: from scratch or from another checkpoint, without the teacher, with another reward.

## Bad

```yaml
trainer.resume_from_path: checkpoints/run/global_step_100
```

## Good

```yaml
trainer.resume_mode: resume_path
trainer.resume_from_path: checkpoints/run/global_step_100
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding

MODE, FUNCTION, MANAGER = "trainer.v1.trainer_mode", "reward.custom_reward_function", "reward.reward_manager"
MODEL, ROLLOUT = "actor_rollout_ref.model", "actor_rollout_ref.rollout"
FSDP = "actor_rollout_ref.actor.fsdp_config"
MEGATRON, VEOMNI = "actor_rollout_ref.actor.megatron", "actor_rollout_ref.actor.veomni"
OPTIMISER = "actor_rollout_ref.actor.optim"
SWITCHES: tuple[tuple[str, Any, str, Any], ...] = (
    ("trainer.resume_from_path", None, "trainer.resume_mode", "resume_path"),
    ("reward.reward_model.model_path", None, "reward.reward_model.enable", True),
    (f"{MANAGER}.module.path", None, f"{MANAGER}.source", "importlib"),
    (f"{MODEL}.mtp.enable_train", False, f"{MODEL}.mtp.enable", True),
    (f"{MODEL}.mtp.enable_rollout", False, f"{MODEL}.mtp.enable", True),
    (f"{ROLLOUT}.disaggregation.decode_replicas", 1, f"{ROLLOUT}.disaggregation.enabled", True),
    (f"{FSDP}.entropy_from_logits_chunk_size", 2048, f"{FSDP}.entropy_from_logits_with_chunking", True),
    (f"{FSDP}.pad_to_length_bucket", 1024, f"{FSDP}.pad_to_length", True),
    (f"{MEGATRON}.pad_to_length_bucket", 512, f"{MEGATRON}.pad_to_length", True),
    (f"{MEGATRON}.dist_checkpointing_path", None, f"{MEGATRON}.use_dist_checkpointing", True),
    (f"{MEGATRON}.max_seqlen_per_dp_cp_rank", None, f"{MEGATRON}.dynamic_context_parallel", True),
    (f"{VEOMNI}.activation_offload_modules", [], f"{VEOMNI}.enable_async_activation_offload", True),
    (f"{OPTIMISER}.exp_avg_dtype", "fp32", f"{OPTIMISER}.use_precision_aware_optimizer", True),
    (f"{OPTIMISER}.exp_avg_sq_dtype", "fp32", f"{OPTIMISER}.use_precision_aware_optimizer", True),
    (f"{OPTIMISER}.main_grads_dtype", "fp32", f"{OPTIMISER}.use_precision_aware_optimizer", True),
    (f"{OPTIMISER}.use_layer_wise_distributed_optimizer", False, f"{OPTIMISER}.optimizer", "muon"),
    (f"{OPTIMISER}.muon_match_adamw_update_rms", False, f"{OPTIMISER}.optimizer", "muon"),
    (f"{OPTIMISER}.muon_momentum", 0.95, f"{OPTIMISER}.optimizer", "muon"),
    (f"{ROLLOUT}.nnodes", 0, MODE, "separate_async"),
    (f"{ROLLOUT}.checkpoint_engine.backend", "naive", MODE, "separate_async"),
    (f"{ROLLOUT}.moe_load_balance_metrics_interval", 0, f"{ROLLOUT}.enable_rollout_routing_replay", True),
    ("trainer.v1.separate_async.parameter_sync_step", 4, MODE, "separate_async"),
    ("trainer.v1.separate_async.num_warmup_batches", 1, MODE, "separate_async"),
    ("trainer.v1.separate_async.hybrid_rollout.enable_switch", False, MODE, "separate_async"),
    ("trainer.v1.colocate_async.num_warmup_batches", 1, MODE, "colocate_async"),
)
"""A key, what it is when it is left out, and the switch with the position that makes verl read it."""
OF_A_FILE: tuple[tuple[str, Any, str], ...] = (
    (f"{FUNCTION}.name", "compute_score", f"{FUNCTION}.path"),
    (f"{FUNCTION}.reward_kwargs", {}, f"{FUNCTION}.path"),
    ("data.custom_cls.name", None, "data.custom_cls.path"),
)
"""What goes with code of the user's, what it is when it is left out, and the key of the code's file."""
OFF: Mapping[str, Any] = {
    "trainer.resume_mode": "auto",
    f"{MANAGER}.source": "register",
    MODE: "sync",
    f"{OPTIMISER}.optimizer": "adam",
}


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at each value and its switch."""
    if settings.get("trainer.use_v1") is False:
        return
    for key, default, switch, needed in SWITCHES:
        position = settings.get(switch, OFF.get(switch, False))
        if settings.get(key, default) not in (None, "", default) and position != needed:
            yield _unread(key, f"{switch} is {position!r}", f"set {switch} to {_word(needed)}, or leave this out")
    teachers = "distillation.teacher_models."
    for key in settings if not settings.get("distillation.enabled") else ():
        if key.startswith(teachers) and key.endswith(".model_path") and settings[key] is not None:
            yield _unread(key, "distillation is off", "set distillation.enabled to true")
    for key, default, file in OF_A_FILE:
        if settings.get(file) is None and settings.get(key, default) not in (None, default):
            yield _unread(key, f"{file} is not set", f"set {file}")


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _unread(key: str, note: str, cure: str) -> KeyFinding:
    return KeyFinding(key, f"{note}, so nothing reads it", cure, severity=Severity.WARNING)
