"""count that verl cannot work with

## What it checks

Batches, samples, workers, nodes, parallel sizes, chunks and drafted tokens that are read are whole numbers of at
least 1, and counts that may be nothing of at least 0. Epochs of an update or a training at 0 are a warning, because
nothing would be trained, and so is a number of checkpoints to keep that keeps them all.

## Why it matters

Ray, torch and the engines refuse the number when they are built, or divide by it in the first step.

## Bad

```yaml
actor_rollout_ref.rollout.agent.num_workers: 0
```

## Good

```yaml
actor_rollout_ref.rollout.agent.num_workers: 8
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic, uses_reference

ACTOR, REFERENCE, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.ref", "actor_rollout_ref.rollout"
AT_LEAST_ONE = (
    "data.train_batch_size",
    "data.max_prompt_length",
    "data.max_response_length",
    f"{ACTOR}.ppo_mini_batch_size",
    f"{ROLLOUT}.val_kwargs.n",
    f"{ROLLOUT}.agent.num_workers",
    f"{ROLLOUT}.max_num_seqs",
    f"{ROLLOUT}.max_num_batched_tokens",
    f"{ROLLOUT}.checkpoint_engine.update_weights_bucket_megabytes",
    "reward.num_workers",
    "trainer.nnodes",
    "trainer.n_gpus_per_node",
)
ROLLOUT_SIZES = ("tensor_model_parallel_size", "data_parallel_size", "pipeline_model_parallel_size")
MEGATRON_SIZES = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
FSDP = ("fsdp", "fsdp2", "fsdp_turbo")
MTP = "actor_rollout_ref.model.mtp"
DRAFTS = ("speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens")
KEPT = ("trainer.max_actor_ckpt_to_keep", "trainer.max_critic_ckpt_to_keep")
TRAINS_NOTHING = (f"{ACTOR}.ppo_epochs", "trainer.total_epochs", "trainer.total_training_steps")


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at each count that is read."""
    for key, least in _counts(settings):
        value = settings.get(key)
        if value is not None and not _is_count(value, least):
            yield KeyFinding(key, f"{key} = {value!r}", f"use a whole number, {least} or more")
    for key in _sizes(settings):
        if key in settings and not _is_count(settings[key], 1):
            yield KeyFinding(key, f"{key} = {settings[key]!r}", "use a whole number, 1 or more")
    for key in TRAINS_NOTHING:
        value = settings.get(key)
        if isinstance(value, int) and value < 1:
            yield KeyFinding(key, f"{key} = {value}: nothing is trained", "use 1 or more", severity=Severity.WARNING)

    for key in KEPT if uses_critic(settings) else KEPT[:1]:
        value = settings.get(key)
        if value is not None and not _is_count(value, 1):
            note = f"{key} = {value!r} removes no checkpoint"
            yield KeyFinding(key, note, "use 1 or more, or null to keep all", severity=Severity.WARNING)


def _is_count(value: Any, least: int) -> bool:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return whole and not isinstance(value, bool) and value >= least


def _sizes(settings: Mapping[str, Any]) -> Iterator[str]:
    """Parallel sizes, which may not be null either: verl multiplies them before anything else."""
    yield f"{ROLLOUT}.n"
    yield from (f"{ROLLOUT}.{word}" for word in (*ROLLOUT_SIZES, "expert_parallel_size"))
    homes = [(ACTOR, ACTOR, "fsdp_config")]
    if uses_reference(settings):
        homes.append((REFERENCE, ACTOR, "fsdp_config"))
    if uses_critic(settings):
        homes.append(("critic", "critic", "fsdp"))
    for home, role, fsdp in homes:
        strategy = settings.get(f"{role}.strategy", "fsdp")
        if strategy == "megatron":
            yield from (f"{home}.megatron.{word}" for word in MEGATRON_SIZES)
        elif strategy in FSDP:
            yield f"{home}.{fsdp}.ulysses_sequence_parallel_size"


def _counts(settings: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    yield from ((key, 1) for key in AT_LEAST_ONE)
    yield "data.dataloader_num_workers", 0
    if settings.get("data.filter_overlong_prompts"):
        yield "data.filter_overlong_prompts_workers", 1
    if settings.get("transfer_queue.backend.storage_backend", "SimpleStorage") == "SimpleStorage":
        yield "transfer_queue.backend.SimpleStorage.num_data_storage_units", 1
    if settings.get("trainer.v1.trainer_mode") == "separate_async":
        yield "trainer.v1.separate_async.hybrid_rollout.switch_cost_window_size", 1
    yield from _engines(settings)
    yield from _passes(settings)


def _engines(settings: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """What stands behind a switch of the training or the inference engine."""
    actor = str(settings.get(f"{ACTOR}.strategy", "fsdp"))
    home = f"{ACTOR}.{'fsdp_config' if actor in FSDP else actor}"
    if settings.get(f"{home}.entropy_from_logits_with_chunking"):
        yield f"{home}.entropy_from_logits_chunk_size", 1
    if settings.get(f"{home}.pad_to_length"):
        yield f"{home}.pad_to_length_bucket", 1
    if settings.get(f"{MTP}.enable") and settings.get(f"{MTP}.enable_rollout"):
        words = ("num_speculative_tokens",) if settings.get(f"{ROLLOUT}.name") == "vllm" else DRAFTS
        yield from ((f"{MTP}.{word}", 1) for word in words)
    if settings.get(f"{ROLLOUT}.name") == "trtllm":
        yield f"{ROLLOUT}.server.max_attempts", 1
    yield f"{ROLLOUT}.moe_load_balance_metrics_interval", 0


def _passes(settings: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Micro-batches, or their budgets, of the roles that are on."""
    actor = bool(settings.get(f"{ACTOR}.use_dynamic_bsz"))
    homes = [(f"{ACTOR}.use_dynamic_bsz", ACTOR, "ppo"), (f"{ROLLOUT}.log_prob_use_dynamic_bsz", ROLLOUT, "log_prob")]
    if uses_reference(settings):
        homes.append((f"{REFERENCE}.log_prob_use_dynamic_bsz", REFERENCE, "log_prob"))
    for switch, home, word in homes:
        by_tokens = settings.get(switch, actor)
        yield f"{home}.{word}_{'max_token_len_per_gpu' if by_tokens else 'micro_batch_size_per_gpu'}", 1
    if uses_critic(settings):
        yield "critic.ppo_mini_batch_size", 1
