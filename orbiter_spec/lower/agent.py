"""`agent` and `dataset` in verl's keys. LoRA has two homes: flat model keys under FSDP, `model.lora` under Megatron."""

from __future__ import annotations

from orbiter_spec.lower.setting import (
    ACTOR,
    CRITIC,
    MODEL,
    ROLLOUT,
    Mapped,
    Role,
    Setting,
    Switch,
    below,
    switch,
    to,
    worded,
)

_FLAT_LORA = ("dp", "veomni", "torchtitan")
_MERGING = ("megatron", "dp")
"""Engines that can send merged weights; both read it from the nested keys."""
_LORA: tuple[tuple[str, str, str | None], ...] = (
    ("rank", "rank", "lora_rank"),
    ("alpha", "alpha", "lora_alpha"),
    ("targets", "target_modules", "target_modules"),
    ("exclude", "exclude_modules", "exclude_modules"),
    ("adapter", "adapter_path", "lora_adapter_path"),
    ("dropout", "dropout", None),
    ("dropout_position", "dropout_position", None),
    ("kind", "type", None),
    ("a_init", "lora_A_init_method", None),
    ("b_init", "lora_B_init_method", None),
    ("dtype", "dtype", None),
    ("fully_sharded", "fully_sharded_loras", None),
)
_MODEL: tuple[tuple[str, str], ...] = (
    ("tokenizer", "tokenizer_path"),
    ("config", "hf_config_path"),
    ("trust_remote_code", "trust_remote_code"),
    ("attention", "override_config.attn_implementation"),
    ("external_lib", "external_lib"),
    ("shared_memory", "use_shm"),
)


def _model(route: str, base: str, role: Role) -> tuple[Setting, ...]:
    """What policy and critic say in the same words."""
    rows = [to(f"{route}.{name}", f"{base}.{key}", role=role) for name, key in _MODEL]
    for name, megatron, flat in _LORA:
        keys = {"megatron": (f"{base}.lora.{megatron}",)}
        keys |= {engine: (f"{base}.{flat}",) for engine in _FLAT_LORA if flat}
        rows.append(Setting(f"{route}.lora.{name}", keys, role))
    rows.append(Setting(f"{route}.lora.merge", {engine: (f"{base}.lora.merge",) for engine in _MERGING}, role))
    return tuple(rows)


AGENT: tuple[Setting, ...] = (
    *_model("agent.model", MODEL, Role.ALWAYS),
    *_model("algorithm.critic.model", f"{CRITIC}.model", Role.CRITIC),
    to("agent.model.chat_template", f"{MODEL}.custom_chat_template"),
    to("agent.model.freeze_vision", f"{ACTOR}.freeze_vision_tower"),
    to("agent.model.fused_kernel_backend", f"{MODEL}.fused_kernel_options.impl_backend"),
    to("agent.model.mlp_shards", f"{MODEL}.tiled_mlp.num_shards"),
    to("agent.model.lora.layered_summon", f"{ROLLOUT}.layered_summon"),
    to("agent.model.mtp.enabled", f"{MODEL}.mtp.enable"),
    to("agent.model.mtp.train", f"{MODEL}.mtp.enable_train"),
    to("agent.model.mtp.rollout", f"{MODEL}.mtp.enable_rollout"),
    to("agent.model.mtp.detach_encoder", f"{MODEL}.mtp.detach_encoder"),
    to("agent.model.mtp.loss_factor", f"{MODEL}.mtp.mtp_loss_scaling_factor"),
    to("agent.model.mtp.method", f"{MODEL}.mtp.method"),
    to("agent.model.mtp.speculative_tokens", f"{MODEL}.mtp.num_speculative_tokens"),
    to("agent.model.mtp.speculative_algorithm", f"{MODEL}.mtp.speculative_algorithm"),
    to("agent.model.mtp.speculative_steps", f"{MODEL}.mtp.speculative_num_steps"),
    to("agent.model.mtp.draft_tokens", f"{MODEL}.mtp.speculative_num_draft_tokens"),
    to("agent.model.mtp.eagle_topk", f"{MODEL}.mtp.speculative_eagle_topk"),
    to("agent.turns.enabled", f"{ROLLOUT}.multi_turn.enable"),
    to("agent.turns.inference_chat_template", f"{ROLLOUT}.multi_turn.use_inference_chat_template"),
    to("agent.turns.repeats", f"{ROLLOUT}.multi_turn.num_repeat_rollouts"),
    to("agent.turns.max", f"{ROLLOUT}.multi_turn.max_assistant_turns"),
    to("agent.turns.max_user", f"{ROLLOUT}.multi_turn.max_user_turns"),
    to("agent.turns.max_parallel_tool_calls", f"{ROLLOUT}.multi_turn.max_parallel_calls"),
    to("agent.turns.tool_response_characters", f"{ROLLOUT}.multi_turn.max_tool_response_length"),
    to("agent.turns.tool_response_truncate", f"{ROLLOUT}.multi_turn.tool_response_truncate_side"),
    to("agent.turns.tool_format", f"{ROLLOUT}.multi_turn.format"),
    to("agent.turns.tokenization_check", f"{ROLLOUT}.multi_turn.tokenization_sanity_check_mode"),
    to("agent.loop", f"{ROLLOUT}.agent.default_agent_loop"),
    to("agent.workers", f"{ROLLOUT}.agent.num_workers"),
    to("agent.limits.prompt_tokens", "data.max_prompt_length"),
    to("agent.limits.response_tokens", "data.max_response_length"),
    to("agent.limits.drop_overlong", "data.filter_overlong_prompts"),
    to("agent.limits.truncation", "data.truncation"),
    to("agent.limits.filter_workers", "data.filter_overlong_prompts_workers"),
    to("agent.sampling.temperature", f"{ROLLOUT}.temperature"),
    to("agent.sampling.top_p", f"{ROLLOUT}.top_p"),
    to("agent.sampling.top_k", f"{ROLLOUT}.top_k"),
    to("agent.sampling.sample", f"{ROLLOUT}.do_sample"),
    to("agent.sampling.ignore_eos", f"{ROLLOUT}.ignore_eos"),
    to("dataset.shuffle", "data.shuffle"),
    to("dataset.loader_workers", "data.dataloader_num_workers"),
    to("dataset.limit", "data.train_max_samples"),
    to("dataset.trust_remote_code", "data.trust_remote_code"),
    to("dataset.tokenizer", "data.tokenizer"),
    to("dataset.shared_memory", "data.use_shm"),
    to("dataset.shuffle_validation", "data.validation_shuffle"),
    to("dataset.image_patch_size", "data.image_patch_size"),
    to("dataset.raw_chat", "data.return_raw_chat"),
    to("dataset.raw_input_ids", "data.return_raw_input_ids"),
    to("dataset.full_prompt", "data.return_full_prompt"),
    to("dataset.multi_modal_inputs", "data.return_multi_modal_inputs"),
    to("dataset.columns.prompt", "data.prompt_key"),
    to("dataset.columns.scorer", "data.reward_fn_key"),
    to("dataset.columns.videos", "data.video_key"),
    to("dataset.columns.audios", "data.audio_key"),
    worded("dataset.seed", "data.seed", word="random", value=None),
)

AGENT_MAPPED: tuple[Mapped, ...] = (
    below("agent.model.config_overrides", f"{MODEL}.override_config"),
    below("algorithm.critic.model.config_overrides", f"{CRITIC}.model.override_config", role=Role.CRITIC),
    below("agent.chat_template_args", "data.apply_chat_template_kwargs"),
    below("dataset.processor_args", "data.mm_processor_kwargs"),
)
AGENT_SWITCHES: tuple[Switch, ...] = (
    switch("agent.model.mtp", f"{MODEL}.mtp.enable"),
    switch("agent.turns", f"{ROLLOUT}.multi_turn.enable"),
)
