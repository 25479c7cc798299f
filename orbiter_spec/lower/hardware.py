"""`hardware` in verl's keys: the same engine words three times, for actor, reference and critic."""

from __future__ import annotations

from orbiter_spec.lower.setting import ACTOR, CRITIC, ENGINES, MODEL, REFERENCE, ROLLOUT, Role, Setting, inverse, to

_ENGINE: tuple[tuple[str, dict[str, str]], ...] = (
    ("offload.parameters", dict.fromkeys(ENGINES, "param_offload")),
    ("offload.optimizer", dict.fromkeys(ENGINES, "optimizer_offload")),
    ("tensor_parallel", {"megatron": "tensor_model_parallel_size", "torchtitan": "tensor_parallel_size"}),
    ("pipeline_parallel", {"megatron": "pipeline_model_parallel_size", "torchtitan": "pipeline_parallel_size"}),
    ("virtual_pipeline", {"megatron": "virtual_pipeline_model_parallel_size"}),
    ("context_parallel", {"megatron": "context_parallel_size", "torchtitan": "context_parallel_size"}),
    (
        "expert_parallel",
        {
            "megatron": "expert_model_parallel_size",
            "veomni": "expert_parallel_size",
            "torchtitan": "expert_parallel_size",
        },
    ),
    ("expert_tensor_parallel", {"megatron": "expert_tensor_parallel_size"}),
    ("shard_size", {"dp": "fsdp_size", "veomni": "fsdp_size", "torchtitan": "data_parallel_shard_size"}),
    ("model_dtype", {"dp": "model_dtype"}),
    ("forward_prefetch", {"dp": "forward_prefetch", "veomni": "forward_prefetch", "torchtitan": "forward_prefetch"}),
)
_HOMES = {"dp": "fsdp_config", "megatron": "megatron", "veomni": "veomni", "torchtitan": "torchtitan"}
_CRITIC_HOMES = {**_HOMES, "dp": "fsdp"}


def _engine(route: str, base: str, homes: dict[str, str], role: Role) -> tuple[Setting, ...]:
    return tuple(
        Setting(f"{route}.{name}", {engine: (f"{base}.{homes[engine]}.{key}",) for engine, key in keys.items()}, role)
        for name, keys in _ENGINE
    )


HARDWARE: tuple[Setting, ...] = (
    to("hardware.nodes", "trainer.nnodes"),
    to("hardware.gpus_per_node", "trainer.n_gpus_per_node"),
    to("hardware.storage_units", "transfer_queue.backend.SimpleStorage.num_data_storage_units"),
    *_engine("hardware.train", ACTOR, _HOMES, Role.ALWAYS),
    to(
        "hardware.train.sequence_parallel",
        dp=f"{ACTOR}.ulysses_sequence_parallel_size",
        veomni=f"{ACTOR}.veomni.ulysses_parallel_size",
    ),
    to("hardware.train.compile", f"{ACTOR}.use_torch_compile"),
    to("hardware.train.micro_batch.sequences", f"{ACTOR}.ppo_micro_batch_size_per_gpu"),
    to("hardware.train.micro_batch.tokens", f"{ACTOR}.ppo_max_token_len_per_gpu"),
    to("hardware.train.micro_batch.dynamic", f"{ACTOR}.use_dynamic_bsz"),
    to("hardware.train.gradient_checkpointing", f"{MODEL}.enable_gradient_checkpointing"),
    to("hardware.train.activation_offload", f"{MODEL}.enable_activation_offload"),
    to("hardware.train.remove_padding", f"{MODEL}.use_remove_padding"),
    to("hardware.train.fused_kernels", f"{MODEL}.use_fused_kernels"),
    to("hardware.train.liger", f"{MODEL}.use_liger"),
    to("hardware.train.prefix_grouper", f"{ACTOR}.use_prefix_grouper"),
    to("hardware.train.entropy_chunking", f"{ACTOR}.entropy_from_logits_with_chunking"),
    to("hardware.train.entropy_checkpointing", dp=f"{ACTOR}.entropy_checkpointing"),
    to("hardware.train.balance_batch", "trainer.balance_batch"),
    to("hardware.train.collective_timeout_seconds", "actor_rollout_ref.nccl_timeout"),
    *_engine("hardware.reference", REFERENCE, _HOMES, Role.REFERENCE),
    to(
        "hardware.reference.sequence_parallel",
        dp=f"{REFERENCE}.ulysses_sequence_parallel_size",
        veomni=f"{REFERENCE}.veomni.ulysses_parallel_size",
        role=Role.REFERENCE,
    ),
    to("hardware.reference.compile", f"{REFERENCE}.use_torch_compile", role=Role.REFERENCE),
    to(
        "hardware.reference.micro_batch.sequences",
        f"{REFERENCE}.log_prob_micro_batch_size_per_gpu",
        role=Role.REFERENCE,
    ),
    to("hardware.reference.micro_batch.tokens", f"{REFERENCE}.log_prob_max_token_len_per_gpu", role=Role.REFERENCE),
    to("hardware.reference.micro_batch.dynamic", f"{REFERENCE}.log_prob_use_dynamic_bsz", role=Role.REFERENCE),
    *_engine("hardware.critic", CRITIC, _CRITIC_HOMES, Role.CRITIC),
    to(
        "hardware.critic.sequence_parallel",
        dp=f"{CRITIC}.ulysses_sequence_parallel_size",
        veomni=f"{CRITIC}.veomni.ulysses_parallel_size",
        role=Role.CRITIC,
    ),
    to("hardware.critic.micro_batch.sequences", f"{CRITIC}.ppo_micro_batch_size_per_gpu", role=Role.CRITIC),
    to("hardware.critic.micro_batch.tokens", f"{CRITIC}.ppo_max_token_len_per_gpu", role=Role.CRITIC),
    to("hardware.critic.micro_batch.dynamic", f"{CRITIC}.use_dynamic_bsz", role=Role.CRITIC),
    to(
        "hardware.critic.forward_micro_batch.sequences",
        f"{CRITIC}.forward_micro_batch_size_per_gpu",
        role=Role.CRITIC,
    ),
    to("hardware.critic.forward_micro_batch.tokens", f"{CRITIC}.forward_max_token_len_per_gpu", role=Role.CRITIC),
    to("hardware.rollout.tensor_parallel", f"{ROLLOUT}.tensor_model_parallel_size"),
    to("hardware.rollout.data_parallel", f"{ROLLOUT}.data_parallel_size"),
    to("hardware.rollout.expert_parallel", f"{ROLLOUT}.expert_parallel_size"),
    to("hardware.rollout.pipeline_parallel", f"{ROLLOUT}.pipeline_model_parallel_size"),
    to("hardware.rollout.memory_fraction", f"{ROLLOUT}.gpu_memory_utilization"),
    to("hardware.rollout.nodes", f"{ROLLOUT}.nnodes"),
    to("hardware.rollout.gpus_per_node", f"{ROLLOUT}.n_gpus_per_node"),
    to("hardware.rollout.dtype", f"{ROLLOUT}.dtype"),
    to("hardware.rollout.max_sequence_tokens", f"{ROLLOUT}.max_model_len"),
    to("hardware.rollout.max_batched_tokens", f"{ROLLOUT}.max_num_batched_tokens"),
    to("hardware.rollout.max_sequences", f"{ROLLOUT}.max_num_seqs"),
    to("hardware.rollout.chunked_prefill", f"{ROLLOUT}.enable_chunked_prefill"),
    to("hardware.rollout.prefix_caching", f"{ROLLOUT}.enable_prefix_caching"),
    inverse("hardware.rollout.cuda_graphs", f"{ROLLOUT}.enforce_eager"),
    to("hardware.rollout.cuda_graph_sizes", f"{ROLLOUT}.cudagraph_capture_sizes"),
    to("hardware.rollout.free_cache", f"{ROLLOUT}.free_cache_engine"),
    to("hardware.rollout.quantization", f"{ROLLOUT}.quantization"),
    to("hardware.rollout.load_format", f"{ROLLOUT}.load_format"),
    to("hardware.rollout.multi_stage_wake_up", f"{ROLLOUT}.multi_stage_wake_up"),
    inverse("hardware.rollout.log_stats", f"{ROLLOUT}.disable_log_stats"),
    to("hardware.rollout.routing_replay", f"{ROLLOUT}.enable_rollout_routing_replay"),
    to("hardware.rollout.weight_bucket_megabytes", f"{ROLLOUT}.checkpoint_engine.update_weights_bucket_megabytes"),
    to("hardware.rollout.micro_batch.sequences", f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu"),
    to("hardware.rollout.micro_batch.tokens", f"{ROLLOUT}.log_prob_max_token_len_per_gpu"),
    to("hardware.rollout.micro_batch.dynamic", f"{ROLLOUT}.log_prob_use_dynamic_bsz"),
)
