"""`agent` in verl's keys. LoRA has two homes: flat model keys under FSDP, `model.lora` under Megatron."""

from __future__ import annotations

from orbiter_spec.lower.setting import ACTOR, MODEL, ROLLOUT, Setting, to


def _lora(field: str, megatron: str, dp: str | None = None) -> Setting:
    homes = {"megatron": f"{MODEL}.lora.{megatron}"}
    if dp:
        homes |= {engine: f"{MODEL}.{dp}" for engine in ("dp", "veomni", "torchtitan")}
    return to(f"agent.model.lora.{field}", **homes)


AGENT: tuple[Setting, ...] = (
    to("agent.model.tokenizer", f"{MODEL}.tokenizer_path"),
    to("agent.model.config", f"{MODEL}.hf_config_path"),
    to("agent.model.trust_remote_code", f"{MODEL}.trust_remote_code"),
    to("agent.model.attention", f"{MODEL}.override_config.attn_implementation"),
    to("agent.model.chat_template", f"{MODEL}.custom_chat_template"),
    to("agent.model.external_lib", f"{MODEL}.external_lib"),
    to("agent.model.shared_memory", f"{MODEL}.use_shm"),
    to("agent.model.freeze_vision", f"{ACTOR}.freeze_vision_tower"),
    _lora("rank", "rank", "lora_rank"),
    _lora("alpha", "alpha", "lora_alpha"),
    _lora("targets", "target_modules", "target_modules"),
    _lora("exclude", "exclude_modules", "exclude_modules"),
    _lora("adapter", "adapter_path", "lora_adapter_path"),
    _lora("dropout", "dropout"),
    _lora("kind", "type"),
    _lora("merge", "merge"),
    _lora("a_init", "lora_A_init_method"),
    _lora("fully_sharded", "fully_sharded_loras"),
    to("agent.model.lora.layered_summon", f"{ROLLOUT}.layered_summon"),
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
    to("agent.sampling.ignore_eos", f"{ROLLOUT}.ignore_eos"),
    to("dataset.shuffle", "data.shuffle"),
    to("dataset.loader_workers", "data.dataloader_num_workers"),
    to("dataset.limit", "data.train_max_samples"),
    to("dataset.trust_remote_code", "data.trust_remote_code"),
)
