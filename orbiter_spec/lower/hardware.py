"""`hardware` in verl's keys, beside the words of the training engines (`orbiter_spec.lower.engine`)."""

from __future__ import annotations

from orbiter_spec.lower.engine import ENGINE, ENGINE_MAPPED, ENGINE_SWITCHES
from orbiter_spec.lower.setting import (
    ACTOR,
    CRITIC,
    MODEL,
    REFERENCE,
    ROLLOUT,
    Mapped,
    Role,
    Setting,
    Switch,
    below,
    inverse,
    switch,
    to,
)

HARDWARE: tuple[Setting, ...] = (
    to("hardware.nodes", "trainer.nnodes"),
    to("hardware.gpus_per_node", "trainer.n_gpus_per_node"),
    to("hardware.device", "trainer.device"),
    to("hardware.startup_timeout_seconds", "trainer.ray_wait_register_center_timeout"),
    to("hardware.storage_samples", "transfer_queue.backend.SimpleStorage.total_storage_size"),
    to("hardware.storage_units", "transfer_queue.backend.SimpleStorage.num_data_storage_units"),
    *ENGINE,
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
    to("hardware.train.balance_batch", "trainer.balance_batch"),
    to("hardware.train.collective_timeout_seconds", "actor_rollout_ref.nccl_timeout"),
    to("hardware.reference.compile", f"{REFERENCE}.use_torch_compile", role=Role.REFERENCE),
    to(
        "hardware.reference.micro_batch.sequences",
        f"{REFERENCE}.log_prob_micro_batch_size_per_gpu",
        role=Role.REFERENCE,
    ),
    to("hardware.reference.micro_batch.tokens", f"{REFERENCE}.log_prob_max_token_len_per_gpu", role=Role.REFERENCE),
    to("hardware.reference.micro_batch.dynamic", f"{REFERENCE}.log_prob_use_dynamic_bsz", role=Role.REFERENCE),
    *(
        to(f"hardware.critic.{name}", f"{CRITIC}.model.{key}", role=Role.CRITIC)
        for name, key in (
            ("gradient_checkpointing", "enable_gradient_checkpointing"),
            ("activation_offload", "enable_activation_offload"),
            ("remove_padding", "use_remove_padding"),
        )
    ),
    to("hardware.critic.micro_batch.sequences", f"{CRITIC}.ppo_micro_batch_size_per_gpu", role=Role.CRITIC),
    to("hardware.critic.micro_batch.tokens", f"{CRITIC}.ppo_max_token_len_per_gpu", role=Role.CRITIC),
    to("hardware.critic.micro_batch.dynamic", f"{CRITIC}.use_dynamic_bsz", role=Role.CRITIC),
    to(
        "hardware.critic.forward_micro_batch.sequences",
        dp=f"{CRITIC}.forward_micro_batch_size_per_gpu",
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
    to("hardware.rollout.quantization_config", f"{ROLLOUT}.quantization_config_file"),
    to("hardware.rollout.scheduling", f"{ROLLOUT}.scheduling_policy"),
    to("hardware.rollout.log_probs", f"{ROLLOUT}.calculate_log_probs"),
    to("hardware.rollout.log_probs_mode", f"{ROLLOUT}.logprobs_mode"),
    to("hardware.rollout.over_sample", f"{ROLLOUT}.over_sample_rate"),
    to("hardware.rollout.skip_tokenizer", f"{ROLLOUT}.skip_tokenizer_init"),
    to("hardware.rollout.sync_backend", f"{ROLLOUT}.checkpoint_engine.backend"),
    to("hardware.rollout.expert_metrics_every", f"{ROLLOUT}.moe_load_balance_metrics_interval"),
    to("hardware.rollout.router_config", f"{ROLLOUT}.router_config_path"),
    *(
        to(f"hardware.rollout.hybrid.{name}", f"trainer.v1.separate_async.hybrid_rollout.{key}")
        for name, key in (
            ("enabled", "enable_switch"),
            ("threshold", "switch_threshold_ratio"),
            ("adaptive", "adaptive_switch_threshold"),
            ("step_up", "switch_threshold_step_up"),
            ("step_down", "switch_threshold_step_down"),
            ("release_steps", "switch_threshold_release_steps"),
            ("cost_window", "switch_cost_window_size"),
        )
    ),
    *(
        to(f"hardware.rollout.disaggregation.{name}", f"{ROLLOUT}.disaggregation.{key}")
        for name, key in (
            ("enabled", "enabled"),
            ("prefill_replicas", "prefill_replicas"),
            ("decode_replicas", "decode_replicas"),
            ("decode_tensor_parallel", "decode_tensor_model_parallel_size"),
            ("transfer", "transfer_backend"),
            ("port", "bootstrap_port"),
            ("device", "ib_device"),
        )
    ),
    *(
        to(f"hardware.rollout.prometheus.{name}", f"{ROLLOUT}.prometheus.{key}")
        for name, key in (
            ("enabled", "enable"),
            ("port", "port"),
            ("file", "file"),
            ("model_name", "served_model_name"),
        )
    ),
    to("hardware.rollout.micro_batch.sequences", f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu"),
    to("hardware.rollout.micro_batch.tokens", f"{ROLLOUT}.log_prob_max_token_len_per_gpu"),
    to("hardware.rollout.micro_batch.dynamic", f"{ROLLOUT}.log_prob_use_dynamic_bsz"),
)

HARDWARE_MAPPED: tuple[Mapped, ...] = (
    *ENGINE_MAPPED,
    below("hardware.storage", "transfer_queue"),
    below("hardware.rollout.engine_args", f"{ROLLOUT}.engine_kwargs.{{rollout}}"),
)
HARDWARE_SWITCHES: tuple[Switch, ...] = (
    *ENGINE_SWITCHES,
    switch("hardware.rollout.hybrid", "trainer.v1.separate_async.hybrid_rollout.enable_switch"),
    switch("hardware.rollout.disaggregation", f"{ROLLOUT}.disaggregation.enabled"),
    switch("hardware.rollout.prometheus", f"{ROLLOUT}.prometheus.enable"),
)
