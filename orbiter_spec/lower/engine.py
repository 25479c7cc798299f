"""The training engines' words in verl's keys, once for the actor, the reference and the critic.

Every word names its key below the engine's own home (`fsdp_config`, `megatron`, `veomni`, `torchtitan`). A word that an
engine has no key for sets nothing there; the check of coverage holds each word to at least one engine.
"""

from __future__ import annotations

from orbiter_spec.lower.setting import (
    ACTOR,
    CRITIC,
    ENGINES,
    REFERENCE,
    Mapped,
    Role,
    Setting,
    Switch,
)

HOMES = {"dp": "fsdp_config", "megatron": "megatron", "veomni": "veomni", "torchtitan": "torchtitan"}
CRITIC_HOMES = {**HOMES, "dp": "fsdp"}
TRANSFORMER = "override_transformer_config"
NOT_MEGATRON = ("dp", "veomni", "torchtitan")


def _in(engines: tuple[str, ...], key: str) -> dict[str, str]:
    return dict.fromkeys(engines, key)


WORDS: tuple[tuple[str, dict[str, str]], ...] = (
    ("offload.parameters", _in(ENGINES, "param_offload")),
    ("offload.optimizer", _in(ENGINES, "optimizer_offload")),
    ("offload.policy", {"dp": "offload_policy", "veomni": "enable_fsdp_offload"}),
    ("tensor_parallel", {"megatron": "tensor_model_parallel_size", "torchtitan": "tensor_parallel_size"}),
    ("pipeline_parallel", {"megatron": "pipeline_model_parallel_size", "torchtitan": "pipeline_parallel_size"}),
    ("virtual_pipeline", {"megatron": "virtual_pipeline_model_parallel_size"}),
    ("context_parallel", _in(("megatron", "torchtitan"), "context_parallel_size")),
    (
        "expert_parallel",
        {"megatron": "expert_model_parallel_size", **_in(("veomni", "torchtitan"), "expert_parallel_size")},
    ),
    ("expert_tensor_parallel", {"megatron": "expert_tensor_parallel_size"}),
    ("sequence_parallel", {"dp": "ulysses_sequence_parallel_size", "veomni": "ulysses_parallel_size"}),
    ("shard_size", {"dp": "fsdp_size", "veomni": "fsdp_size", "torchtitan": "data_parallel_shard_size"}),
    ("replicate", {"torchtitan": "data_parallel_replicate_size"}),
    ("data_parallel", {"torchtitan": "data_parallel_size"}),
    ("model_dtype", {"dp": "model_dtype"}),
    ("forward_prefetch", _in(NOT_MEGATRON, "forward_prefetch")),
    ("precision.parameters", {"dp": "mixed_precision.param_dtype"}),
    ("precision.reduce", {"dp": "mixed_precision.reduce_dtype"}),
    ("precision.buffers", {"dp": "mixed_precision.buffer_dtype"}),
    ("reshard_after_forward", _in(("dp", "torchtitan"), "reshard_after_forward")),
    ("original_parameters", _in(("dp", "torchtitan"), "use_orig_params")),
    ("wrap_parameters", _in(("dp", "torchtitan"), "wrap_policy.min_num_params")),
    ("bucket_tokens", _in(("dp", "megatron", "veomni"), "pad_to_length_bucket")),
    ("deterministic", _in(NOT_MEGATRON, "full_determinism")),
    ("engine_compile", _in(NOT_MEGATRON, "use_torch_compile")),
    ("sequence_split", {"megatron": "sequence_parallel"}),
    ("distributed_optimizer", {"megatron": "use_distributed_optimizer"}),
    ("packed", {"megatron": "use_remove_padding"}),
    ("mbridge", {"megatron": "use_mbridge"}),
    ("vanilla_mbridge", {"megatron": "vanilla_mbridge"}),
    ("dist_checkpoint.path", {"megatron": "dist_checkpointing_path"}),
    ("dist_checkpoint.enabled", {"megatron": "use_dist_checkpointing"}),
    ("dist_checkpoint.reshardable", {"megatron": "dist_ckpt_optim_fully_reshardable"}),
    ("recompute.granularity", {"megatron": f"{TRANSFORMER}.recompute_granularity"}),
    ("recompute.method", {"megatron": f"{TRANSFORMER}.recompute_method"}),
    ("recompute.layers", {"megatron": f"{TRANSFORMER}.recompute_num_layers"}),
    ("recompute.modules", {"megatron": f"{TRANSFORMER}.recompute_modules"}),
    ("pipeline.first_layers", {"megatron": f"{TRANSFORMER}.num_layers_in_first_pipeline_stage"}),
    ("pipeline.last_layers", {"megatron": f"{TRANSFORMER}.num_layers_in_last_pipeline_stage"}),
    ("pipeline.layout", {"megatron": f"{TRANSFORMER}.pipeline_model_parallel_layout"}),
    ("pipeline.count_loss", {"megatron": f"{TRANSFORMER}.account_for_loss_in_pipeline_split"}),
    ("pipeline.count_embedding", {"megatron": f"{TRANSFORMER}.account_for_embedding_in_pipeline_split"}),
    ("experts.dispatcher", {"megatron": f"{TRANSFORMER}.moe_token_dispatcher_type"}),
    ("experts.deepep", {"megatron": f"{TRANSFORMER}.moe_enable_deepep"}),
    ("experts.grouped_gemm", {"megatron": f"{TRANSFORMER}.moe_grouped_gemm"}),
    ("experts.permute_fusion", {"megatron": f"{TRANSFORMER}.moe_permute_fusion"}),
    ("experts.shared_overlap", {"megatron": f"{TRANSFORMER}.moe_shared_expert_overlap"}),
    ("experts.router_dtype", {"megatron": f"{TRANSFORMER}.moe_router_dtype"}),
    ("experts.balancing", {"megatron": f"{TRANSFORMER}.moe_router_load_balancing_type"}),
    ("experts.balance_coefficient", {"megatron": f"{TRANSFORMER}.moe_aux_loss_coeff"}),
    ("experts.z_coefficient", {"megatron": f"{TRANSFORMER}.moe_z_loss_coeff"}),
    ("experts.expert_bias", {"megatron": f"{TRANSFORMER}.moe_router_enable_expert_bias"}),
    ("experts.bias_rate", {"megatron": f"{TRANSFORMER}.moe_router_bias_update_rate"}),
    ("attention_backend", {"megatron": f"{TRANSFORMER}.attention_backend"}),
    ("router_replay.mode", _in(("megatron", "veomni"), "router_replay.mode")),
    ("router_replay.record", {"megatron": "router_replay.record_file"}),
    ("router_replay.replay", {"megatron": "router_replay.replay_file"}),
    ("quantization.enabled", _in(("dp", "megatron"), "qat.enable")),
    ("quantization.mode", _in(("dp", "megatron"), "qat.mode")),
    ("quantization.group_size", _in(("dp", "megatron"), "qat.group_size")),
    ("quantization.ignore", _in(("dp", "megatron"), "qat.ignore_patterns")),
    ("quantization.observer", _in(("dp", "megatron"), "qat.activation_observer")),
    ("quantization.config", _in(("dp", "megatron"), "qat.quantization_config_path")),
    ("kernels.attention", {"veomni": "attn_implementation", "torchtitan": "attn_type"}),
    ("kernels.experts", {"veomni": "moe_implementation"}),
    ("kernels.cross_entropy", {"veomni": "cross_entropy_loss_implementation"}),
    ("kernels.rms_norm", {"veomni": "rms_norm_implementation"}),
    ("kernels.gated_rms_norm", {"veomni": "rms_norm_gated_implementation"}),
    ("kernels.mlp", {"veomni": "swiglu_mlp_implementation"}),
    ("kernels.rotary", {"veomni": "rotary_pos_emb_implementation"}),
    ("kernels.load_balancing", {"veomni": "load_balancing_loss_implementation"}),
    ("kernels.convolution", {"veomni": "causal_conv1d_implementation"}),
    ("kernels.delta_rule", {"veomni": "chunk_gated_delta_rule_implementation"}),
    ("kernels.sparse_attention", {"veomni": "dsa_attention_implementation"}),
    ("kernels.sparse_indexer", {"veomni": "dsa_indexer_implementation"}),
    ("kernels.hyper_connections", {"veomni": "mhc_implementation"}),
    ("activation_checkpoint", {"torchtitan": "activation_checkpoint"}),
    ("max_sequence_tokens", {"torchtitan": "max_seq_len"}),
)
ENTROPY: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("entropy_chunking", "entropy_from_logits_with_chunking", ("dp", "megatron")),
    ("entropy_chunk_tokens", "entropy_from_logits_chunk_size", ("dp", "megatron")),
    ("entropy_checkpointing", "entropy_checkpointing", ("dp",)),
)
NO_CHUNK_SIZE = "veomni"
MAPPINGS: tuple[tuple[str, dict[str, str]], ...] = (
    ("transformer", {"megatron": f".{TRANSFORMER}"}),
    ("data_parallel_options", {"megatron": ".override_ddp_config"}),
    ("fsdp", {"dp": ""}),
    ("megatron", {"megatron": ""}),
    ("veomni", {"veomni": ""}),
    ("torchtitan", {"torchtitan": ""}),
)
ROLES = (
    ("hardware.train", ACTOR, HOMES, Role.ALWAYS),
    ("hardware.reference", REFERENCE, HOMES, Role.REFERENCE),
    ("hardware.critic", CRITIC, CRITIC_HOMES, Role.CRITIC),
)


def _engine_rows(route: str, base: str, homes: dict[str, str], role: Role) -> tuple[Setting, ...]:
    return tuple(
        Setting(f"{route}.{name}", {engine: (f"{base}.{homes[engine]}.{key}",) for engine, key in keys.items()}, role)
        for name, keys in WORDS
    )


def _entropy_rows(route: str, base: str, homes: dict[str, str], role: Role) -> tuple[Setting, ...]:
    """Actor and reference keep these beside the engine and let the engine follow; critic and newer engines do not."""
    rows = []
    for name, key, beside in ENTROPY:
        keys = {
            engine: (f"{base}.{key}" if engine in beside and base != CRITIC else f"{base}.{homes[engine]}.{key}",)
            for engine in ENGINES
            if not (engine == NO_CHUNK_SIZE and name == "entropy_chunk_tokens")
            and not (engine == "megatron" and name == "entropy_checkpointing")
        }
        rows.append(Setting(f"{route}.{name}", keys, role))
    return tuple(rows)


def _padding_rows(route: str, base: str, homes: dict[str, str], role: Role) -> Setting:
    beside = ("dp", "veomni") if base != CRITIC else ()
    keys = {
        engine: (f"{base}.pad_to_length" if engine in beside else f"{base}.{homes[engine]}.pad_to_length",)
        for engine in ("dp", "megatron", "veomni")
    }
    return Setting(f"{route}.pad_to_bucket", keys, role)


ENGINE: tuple[Setting, ...] = tuple(
    row for role in ROLES for row in (*_engine_rows(*role), *_entropy_rows(*role), _padding_rows(*role))
)
ENGINE_MAPPED: tuple[Mapped, ...] = tuple(
    Mapped(f"{route}.{name}", {engine: f"{base}.{homes[engine]}{tail}" for engine, tail in tails.items()}, role)
    for route, base, homes, role in ROLES
    for name, tails in MAPPINGS
)
ENGINE_SWITCHES: tuple[Switch, ...] = tuple(
    Switch(f"{route}.{section}", {engine: (f"{base}.{homes[engine]}.{key}",) for engine in engines}, role)
    for route, base, homes, role in ROLES
    for section, key, engines in (
        ("quantization", "qat.enable", ("dp", "megatron")),
        ("dist_checkpoint", "use_dist_checkpointing", ("megatron",)),
    )
)
