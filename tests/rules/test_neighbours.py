"""What fails beside the known failures: the next assertion of the same function, the same one for another role.

Each is a sound configuration with a few keys changed, and the check that has to find it. Where verl's own dataclass or
function says so without a GPU, `tests/rules/test_check_pages.py` and the comments here name the place in verl.
"""

from __future__ import annotations

from typing import Any

import pytest

from orbiter_spec.diagnostics import Place, Severity
from orbiter_spec.lower.checks import run_checks
from tests.rules.test_check_pages import SOUND
from tests.rules.test_check_pages import findings_of as key_findings_of

ACTOR, ROLLOUT, REFERENCE = "actor_rollout_ref.actor", "actor_rollout_ref.rollout", "actor_rollout_ref.ref"
CRITIC = {"algorithm.adv_estimator": "gae"}
MEGATRON = {f"{ACTOR}.strategy": "megatron", f"{REFERENCE}.strategy": "megatron", "critic.strategy": "megatron"}
JUDGE = {"reward.reward_model.enable": True, "reward.reward_model.model_path": "org/judge"}
TEACHER = {
    "distillation.enabled": True,
    "distillation.nnodes": 1,
    "distillation.n_gpus_per_node": 2,
    "distillation.teacher_models.teacher_model.model_path": "org/teacher",
}
INFERENCE, LOSS = "distillation.teacher_models.teacher_model.inference", "distillation.distillation_loss"
SEQUENCES = {
    f"{ACTOR}.use_dynamic_bsz": False,
    f"{ACTOR}.ppo_micro_batch_size_per_gpu": 8,
    f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu": 8,
    f"{REFERENCE}.log_prob_micro_batch_size_per_gpu": 8,
}
SAMPLER = "trainer.v1.sampler.custom_sampler"
SWITCHING = "trainer.v1.separate_async.hybrid_rollout"
TURNS, TOOLS = f"{ROLLOUT}.multi_turn", {f"{ROLLOUT}.multi_turn.tool_config_path": "tools.yaml"}
RECORDED = {
    f"{ACTOR}.profiler.enable": True,
    "global_profiler.tool": "torch",
    f"{ACTOR}.profiler.tool_config.torch.contents": ["cuda"],
}
SEPARATE = {"trainer.v1.trainer_mode": "separate_async", f"{ROLLOUT}.nnodes": 1, f"{ROLLOUT}.n_gpus_per_node": 8}

FOUND: tuple[tuple[str, str, dict[str, Any]], ...] = (
    # workers/engine/fsdp/transformer_impl.py optimizer_step
    ("ORB672", f"{ACTOR}.optim.clip_grad", {}),
    ("ORB672", "critic.optim.clip_grad", CRITIC),
    # workers/engine_workers.py init_model
    ("ORB672", f"{ROLLOUT}.log_prob_max_token_len_per_gpu", {}),
    ("ORB672", f"{ACTOR}.ppo_max_token_len_per_gpu", {}),
    # trainer/ppo/reward.py get_custom_reward_fn, load_reward_manager
    ("ORB672", "reward.custom_reward_function.name", {"reward.custom_reward_function.path": "reward.py"}),
    ("ORB672", "reward.reward_manager.module.path", {"reward.reward_manager.source": "importlib"}),
    # workers/config/distillation.py
    ("ORB672", f"{LOSS}.topk", {**TEACHER, f"{LOSS}.loss_mode": "forward_kl_topk"}),
    ("ORB614", f"{LOSS}.loss_mode", {**TEACHER, f"{LOSS}.loss_mode": "forward_kl"}),
    ("ORB617", f"{INFERENCE}.name", {**TEACHER, f"{INFERENCE}.name": "vlm"}),
    ("ORB617", f"{INFERENCE}.name", {**TEACHER, f"{INFERENCE}.name": "trtllm", f"{LOSS}.loss_mode": "forward_kl_topk"}),
    ("ORB617", f"{INFERENCE}.expert_parallel_size", {**TEACHER, f"{INFERENCE}.expert_parallel_size": 3}),
    # workers/rollout/replica.py registry, vLLM's own bounds
    ("ORB614", "reward.reward_model.rollout.name", {**JUDGE, "reward.reward_model.rollout.name": "vlm"}),
    ("ORB671", f"{INFERENCE}.gpu_memory_utilization", {**TEACHER, f"{INFERENCE}.gpu_memory_utilization": 0}),
    (
        "ORB671",
        "reward.reward_model.rollout.gpu_memory_utilization",
        {**JUDGE, "reward.reward_model.rollout.gpu_memory_utilization": 2},
    ),
    ("ORB671", f"{ROLLOUT}.gpu_memory_utilization", {f"{ROLLOUT}.gpu_memory_utilization": 1.5}),
    ("ORB671", f"{ROLLOUT}.top_p", {f"{ROLLOUT}.top_p": 0}),
    ("ORB671", f"{ROLLOUT}.val_kwargs.top_p", {f"{ROLLOUT}.val_kwargs.top_p": 2.0}),
    ("ORB671", f"{ROLLOUT}.val_kwargs.temperature", {f"{ROLLOUT}.val_kwargs.temperature": -1}),
    ("ORB671", f"{ROLLOUT}.top_k", {f"{ROLLOUT}.top_k": -2}),
    ("ORB614", f"{ROLLOUT}.dtype", {f"{ROLLOUT}.dtype": "bf16"}),
    # torch.optim, utils/torch_functional.py
    ("ORB671", f"{ACTOR}.optim.lr", {f"{ACTOR}.optim.lr": -1e-6}),
    ("ORB671", "critic.optim.weight_decay", {**CRITIC, "critic.optim.weight_decay": -0.1}),
    (
        "ORB671",
        f"{ACTOR}.optim.min_lr_ratio",
        {f"{ACTOR}.optim.lr_scheduler_type": "cosine", f"{ACTOR}.optim.min_lr_ratio": 2.0},
    ),
    # workers/config/{optimizer,engine,actor,critic}.py
    ("ORB614", f"{ACTOR}.optim.warmup_style", {f"{ACTOR}.optim.warmup_style": "linear"}),
    ("ORB614", f"{ACTOR}.fsdp_config.strategy", {f"{ACTOR}.fsdp_config.strategy": "fsdp3"}),
    ("ORB614", f"{ACTOR}.fsdp_config.dtype", {f"{ACTOR}.fsdp_config.dtype": "bf61"}),
    ("ORB614", "critic.fsdp.model_dtype", {**CRITIC, "critic.fsdp.model_dtype": "half"}),
    ("ORB614", "critic.loss_agg_mode", {**CRITIC, "critic.loss_agg_mode": "mean"}),
    ("ORB614", f"{REFERENCE}.strategy", {f"{ACTOR}.use_kl_loss": True, f"{REFERENCE}.strategy": "fsdp3"}),
    # workers/engine/megatron/transformer_impl.py, workers/config/megatron_peft.py
    (
        "ORB627",
        f"{ACTOR}.megatron.vanilla_mbridge",
        {**MEGATRON, f"{ACTOR}.megatron.vanilla_mbridge": True, "actor_rollout_ref.model.lora.rank": 8},
    ),
    (
        "ORB623",
        "critic.megatron.dynamic_context_parallel",
        {**MEGATRON, **CRITIC, "critic.megatron.dynamic_context_parallel": True},
    ),
    # checkpoint_engine/base.py registry, workers/rollout/vllm_rollout
    ("ORB614", f"{ROLLOUT}.checkpoint_engine.backend", {f"{ROLLOUT}.checkpoint_engine.backend": "ncl"}),
    (
        "ORB641",
        f"{ROLLOUT}.quantization",
        {f"{ROLLOUT}.checkpoint_engine.backend": "delta_sharded", f"{ROLLOUT}.quantization": "fp8"},
    ),
    (
        "ORB670",
        f"{ROLLOUT}.checkpoint_engine.update_weights_bucket_megabytes",
        {f"{ROLLOUT}.checkpoint_engine.update_weights_bucket_megabytes": 0},
    ),
    # Ray actors, dataloader, TransferQueue
    ("ORB670", f"{ROLLOUT}.agent.num_workers", {f"{ROLLOUT}.agent.num_workers": 0}),
    ("ORB670", "reward.num_workers", {"reward.num_workers": 0}),
    ("ORB670", "data.dataloader_num_workers", {"data.dataloader_num_workers": -1}),
    ("ORB670", "trainer.nnodes", {"trainer.nnodes": 0}),
    ("ORB670", f"{ROLLOUT}.n", {f"{ROLLOUT}.n": 0}),
    (
        "ORB670",
        "data.filter_overlong_prompts_workers",
        {"data.filter_overlong_prompts": True, "data.filter_overlong_prompts_workers": 0},
    ),
    (
        "ORB670",
        "transfer_queue.backend.SimpleStorage.num_data_storage_units",
        {"transfer_queue.backend.SimpleStorage.num_data_storage_units": 0},
    ),
    # utils/config.py multiplies and divides by parallel sizes; dataclasses refuse null where they list names
    ("ORB670", f"{ACTOR}.megatron.context_parallel_size", {**MEGATRON, f"{ACTOR}.megatron.context_parallel_size": 0}),
    (
        "ORB670",
        "critic.megatron.tensor_model_parallel_size",
        {**MEGATRON, **CRITIC, "critic.megatron.tensor_model_parallel_size": None},
    ),
    ("ORB670", f"{ROLLOUT}.expert_parallel_size", {f"{ROLLOUT}.expert_parallel_size": None}),
    ("ORB670", f"{ROLLOUT}.pipeline_model_parallel_size", {f"{ROLLOUT}.pipeline_model_parallel_size": 1.5}),
    (
        "ORB670",
        f"{ACTOR}.ppo_micro_batch_size_per_gpu",
        {f"{ACTOR}.use_dynamic_bsz": False, f"{ACTOR}.ppo_micro_batch_size_per_gpu": "eight"},
    ),
    ("ORB672", f"{ACTOR}.loss_agg_mode", {}),
    ("ORB672", f"{ACTOR}.optim.lr_scheduler_type", {}),
    ("ORB672", f"{ACTOR}.fsdp_config.strategy", {}),
    ("ORB614", "critic.megatron.dtype", {**MEGATRON, **CRITIC, "critic.megatron.dtype": "float32"}),
    (
        "ORB642",
        f"{ROLLOUT}.trace.max_samples_per_step_per_worker",
        {f"{ROLLOUT}.trace.max_samples_per_step_per_worker": "all"},
    ),
    ("ORB614", "transfer_queue.backend.storage_backend", {"transfer_queue.backend.storage_backend": "Simple"}),
    # trainer/config/config.py, utils/skip/config.py
    ("ORB671", f"{SWITCHING}.switch_threshold_ratio", {**SEPARATE, f"{SWITCHING}.switch_threshold_ratio": 2}),
    ("ORB670", f"{SWITCHING}.switch_cost_window_size", {**SEPARATE, f"{SWITCHING}.switch_cost_window_size": 0}),
    ("ORB614", "skip.rollout_tq.action", {"skip.rollout_tq.enable": True, "skip.rollout_tq.action": "random"}),
    # numbers past the language: the critic, the reference, replicas, scoring
    ("ORB677", "critic.ppo_mini_batch_size", {**CRITIC, f"{ROLLOUT}.n": 1, "critic.ppo_mini_batch_size": 12}),
    ("ORB677", f"{ROLLOUT}.tensor_model_parallel_size", {f"{ROLLOUT}.tensor_model_parallel_size": 3}),
    ("ORB677", f"{ROLLOUT}.pipeline_model_parallel_size", {f"{ROLLOUT}.pipeline_model_parallel_size": 2}),
    ("ORB677", f"{ROLLOUT}.expert_parallel_size", {f"{ROLLOUT}.expert_parallel_size": 4}),
    (
        "ORB677",
        f"{ACTOR}.megatron.tensor_model_parallel_size",
        {**MEGATRON, f"{ACTOR}.megatron.tensor_model_parallel_size": 3},
    ),
    ("ORB677", "data.train_batch_size", {**SEQUENCES, "data.train_batch_size": 128}),
    ("ORB677", f"{ACTOR}.ppo_micro_batch_size_per_gpu", {**SEQUENCES, f"{ACTOR}.ppo_micro_batch_size_per_gpu": 24}),
    (
        "ORB677",
        f"{REFERENCE}.log_prob_micro_batch_size_per_gpu",
        {**SEQUENCES, f"{ACTOR}.use_kl_loss": True, f"{REFERENCE}.log_prob_micro_batch_size_per_gpu": 48},
    ),
    ("ORB678", f"{ROLLOUT}.log_prob_max_token_len_per_gpu", {f"{ROLLOUT}.log_prob_max_token_len_per_gpu": 1000}),
    ("ORB678", f"{ROLLOUT}.max_model_len", {f"{ROLLOUT}.max_model_len": 512}),
    ("ORB684", f"{INFERENCE}.max_num_batched_tokens", {**TEACHER, f"{INFERENCE}.max_num_batched_tokens": 64}),
    # utils/profiler/config.py, trainer/distillation, engines
    ("ORB679", "critic.profiler.tool_config.npu.level", {**CRITIC, "critic.profiler.tool_config.npu.level": "level3"}),
    (
        "ORB680",
        f"{LOSS}.loss_mode",
        {**TEACHER, f"{LOSS}.loss_mode": "forward_kl_topk", f"{ACTOR}.strategy": "torchtitan"},
    ),
    (
        "ORB680",
        f"{ACTOR}.fsdp_config.pad_to_length",
        {**TEACHER, f"{LOSS}.loss_mode": "forward_kl_topk", f"{ACTOR}.fsdp_config.pad_to_length": True},
    ),
    (
        "ORB681",
        f"{ACTOR}.torchtitan.pipeline_parallel_size",
        {f"{ACTOR}.strategy": "torchtitan", f"{ACTOR}.torchtitan.pipeline_parallel_size": 2},
    ),
    ("ORB681", "actor_rollout_ref.model.target_modules", {"actor_rollout_ref.model.target_modules": 3}),
    ("ORB681", f"{ROLLOUT}.log_prob_use_dynamic_bsz", {f"{ROLLOUT}.log_prob_use_dynamic_bsz": False}),
    (
        "ORB681",
        "critic.model.use_remove_padding",
        {**CRITIC, "critic.fsdp.ulysses_sequence_parallel_size": 2, "critic.model.use_remove_padding": False},
    ),
    (
        "ORB681",
        f"{ROLLOUT}.load_format",
        {f"{ROLLOUT}.name": "trtllm", f"{ROLLOUT}.quantization": "fp8", f"{ROLLOUT}.load_format": "auto"},
    ),
    # null where the trainer computes, compares or looks up (trainer/ppo/v1/trainer_base.py, utils/dataset)
    ("ORB672", "trainer.test_freq", {}),
    ("ORB672", "trainer.total_epochs", {}),
    ("ORB672", "trainer.logger", {}),
    ("ORB672", "trainer.resume_mode", {}),
    ("ORB672", "trainer.default_local_dir", {}),
    ("ORB672", "data.train_max_samples", {}),
    ("ORB672", "data.val_files", {}),
    ("ORB672", "data.max_prompt_length", {"data.filter_overlong_prompts": True, f"{ROLLOUT}.prompt_length": 512}),
    ("ORB672", "data.custom_cls.name", {"data.custom_cls.path": "rows.py"}),
    ("ORB672", f"{ROLLOUT}.seed", {f"{ROLLOUT}.full_determinism": True}),
    ("ORB672", "algorithm.kl_ctrl.kl_coef", {"algorithm.use_kl_in_reward": True}),
    ("ORB672", f"{ACTOR}.kl_loss_type", {f"{ACTOR}.use_kl_loss": True}),
    ("ORB672", f"{ACTOR}.clip_ratio_c", {}),
    # utils/skip/config.py builds every section, also those that are off; trainer_base.py asks `step in steps`
    ("ORB614", "skip.async_rollout.action", {"skip.async_rollout.action": "zip"}),
    ("ORB694", "skip.rollout.steps", {"skip.rollout.steps": 3}),
    ("ORB694", "skip.rollout_tq.steps", {"skip.rollout_tq.steps": [1.5]}),
    # experimental/teacher_loop/teacher_model.py: a pool of two nodes of 4 GPUs, teachers of 3 and 4 and 1
    (
        "ORB617",
        "distillation.teacher_models.b.inference.tensor_model_parallel_size",
        {
            "distillation.enabled": True,
            "distillation.nnodes": 2,
            "distillation.n_gpus_per_node": 4,
            **{
                f"distillation.teacher_models.{name}.{word}": value
                for name, size in (("a", 3), ("b", 4), ("c", 1))
                for word, value in (
                    ("model_path", "m"),
                    ("key", name),
                    ("num_replicas", 1),
                    ("inference.tensor_model_parallel_size", size),
                )
            },
        },
    ),
    # utils/import_utils.py, trainer/ppo/reward.py, trainer_base.py _load_checkpoint
    ("ORB695", "actor_rollout_ref.model.path", {"actor_rollout_ref.model.path": "~/models/mine"}),
    ("ORB695", "data.val_files", {"data.val_files": ["/d/a.parquet", "~/b.parquet"]}),
    ("ORB695", "trainer.checkpoint_callback_class", {"trainer.checkpoint_callback_class": "Mine"}),
    (
        "ORB695",
        "reward.reward_manager.module.name",
        {
            "reward.reward_manager.source": "importlib",
            "reward.reward_manager.module.path": "m.py",
            "reward.reward_manager.module.name": "Mine",
        },
    ),
    (
        "ORB642",
        "trainer.resume_from_path",
        {"trainer.resume_mode": "resume_path", "trainer.resume_from_path": "runs/global_step_10/"},
    ),
    (
        "ORB671",
        "algorithm.rollout_correction.rollout_is_threshold",
        {"algorithm.rollout_correction.rollout_is": "token", "algorithm.rollout_correction.rollout_is_threshold": -1},
    ),
)


@pytest.mark.parametrize(("name", "key", "changed"), FOUND, ids=[f"{name}-{key}" for name, key, _ in FOUND])
def test_it_is_found(name: str, key: str, changed: dict[str, Any]) -> None:
    settings = {**SOUND, **changed, **({key: None} if name == "ORB672" else {})}
    found = [(found_id, item.key) for found_id, item in key_findings_of(settings) if item.severity is Severity.ERROR]
    assert (name, key) in found


UNREAD: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("ORB612", "skip.rollout.enable", {"skip.rollout.enable": True}),
    ("ORB612", f"{ROLLOUT}.trace.backend", {f"{ROLLOUT}.trace.backend": "weave"}),
    ("ORB612", f"{ROLLOUT}.repetition_penalty", {f"{ROLLOUT}.repetition_penalty": 1.05}),
    ("ORB612", "critic.forward_max_token_len_per_gpu", {**CRITIC, "critic.forward_max_token_len_per_gpu": 4096}),
    ("ORB673", "critic.model.use_liger", {**MEGATRON, **CRITIC, "critic.model.use_liger": True}),
    ("ORB673", "critic.fsdp.use_orig_params", {**CRITIC, "critic.fsdp.use_orig_params": True}),
    ("ORB673", f"{ACTOR}.use_torch_compile", {f"{ACTOR}.use_torch_compile": False}),
    ("ORB674", "critic.enable", {"critic.enable": True}),
    (
        "ORB675",
        f"{ACTOR}.fsdp_config.strategy",
        {f"{ACTOR}.strategy": "fsdp", f"{ACTOR}.fsdp_config.strategy": "fsdp2"},
    ),
    ("ORB675", f"{ROLLOUT}.response_length", {f"{ROLLOUT}.response_length": 4096}),
    ("ORB675", f"{ACTOR}.use_fused_kernels", {f"{ACTOR}.use_fused_kernels": True}),
    ("ORB676", f"{SAMPLER}.name", {f"{SAMPLER}.name": "Mine"}),
    (
        "ORB676",
        "algorithm.filter_groups.enable",
        {f"{SAMPLER}.name": "Mine", f"{SAMPLER}.path": "mine.py", "algorithm.filter_groups.enable": True},
    ),
    (
        "ORB680",
        f"{LOSS}.use_policy_gradient",
        {**TEACHER, f"{LOSS}.loss_mode": "forward_kl_topk", f"{LOSS}.use_policy_gradient": True},
    ),
    (
        "ORB682",
        f"{ROLLOUT}.engine_kwargs.vllm.max_model_len",
        {f"{ROLLOUT}.max_model_len": 2048, f"{ROLLOUT}.engine_kwargs.vllm.max_model_len": 4096},
    ),
    (
        "ORB682",
        f"{ROLLOUT}.engine_kwargs.sglang.mem_fraction_static",
        {
            f"{ROLLOUT}.name": "sglang",
            f"{ROLLOUT}.gpu_memory_utilization": 0.5,
            f"{ROLLOUT}.engine_kwargs.sglang.mem_fraction_static": 0.8,
        },
    ),
    ("ORB683", "trainer.resume_from_path", {"trainer.resume_from_path": "runs/global_step_10"}),
    ("ORB683", f"{ROLLOUT}.nnodes", {f"{ROLLOUT}.nnodes": 1}),
    ("ORB683", "distillation.teacher_models.teacher_model.model_path", {**TEACHER, "distillation.enabled": False}),
    ("ORB683", "reward.custom_reward_function.name", {"reward.custom_reward_function.name": "mine"}),
    ("ORB683", "data.custom_cls.name", {"data.custom_cls.name": "Rows"}),
    ("ORB670", "trainer.max_actor_ckpt_to_keep", {"trainer.max_actor_ckpt_to_keep": 0}),
    ("ORB693", f"{TURNS}.max_parallel_calls", {**TOOLS, f"{TURNS}.max_parallel_calls": 0}),
    ("ORB693", f"{TURNS}.max_user_turns", {**TOOLS, f"{TURNS}.max_user_turns": 0}),
    ("ORB693", f"{TURNS}.max_tool_response_length", {**TOOLS, f"{TURNS}.max_tool_response_length": 0}),
    (
        "ORB694",
        "global_profiler.steps",
        {"global_profiler.steps": [50], "trainer.total_training_steps": 10, **RECORDED},
    ),
    ("ORB694", "skip.rollout_tq.enable", {"skip.rollout_tq.enable": True}),
    ("ORB695", "trainer.default_local_dir", {"trainer.default_local_dir": "~/checkpoints"}),
    ("ORB695", "trainer.rollout_data_dir", {"trainer.rollout_data_dir": "hdfs://cluster/rollouts"}),
)


@pytest.mark.parametrize(("name", "key", "changed"), UNREAD, ids=[f"{name}-{key}" for name, key, _ in UNREAD])
def test_it_is_pointed_out(name: str, key: str, changed: dict[str, Any]) -> None:
    found = [(found_id, item.key, item.severity) for found_id, item in key_findings_of({**SOUND, **changed})]
    assert found == [(name, key, Severity.WARNING)]


OFF: tuple[dict[str, Any], ...] = (
    {"data.custom_cls.path": "rows.py", "data.custom_cls.name": "Rows", "data.val_files": None},
    {"data.max_prompt_length": None, f"{ROLLOUT}.prompt_length": 512},
    {"trainer.resume_mode": "disable", "trainer.save_freq": -1, "trainer.default_local_dir": None},
    {f"{ROLLOUT}.seed": None, "algorithm.kl_ctrl.type": None, "algorithm.gamma": None},
    {f"{TURNS}.max_parallel_calls": 0, "data.train_max_samples": -1},
    {"data.train_files": "~/data/rlhf/gsm8k/train.parquet"},
    {
        **TEACHER,
        "distillation.nnodes": 3,
        "distillation.n_gpus_per_node": 4,
        f"{INFERENCE}.tensor_model_parallel_size": 6,
    },
    {"critic.optim.clip_grad": None, "critic.loss_agg_mode": "mean"},
    {"distillation.enabled": False, f"{LOSS}.loss_mode": "forward_kl", f"{INFERENCE}.name": "vlm"},
    {"reward.reward_model.enable": False, "reward.reward_model.rollout.name": "vlm"},
    {f"{REFERENCE}.strategy": "fsdp3"},
    {f"{ROLLOUT}.name": "sglang", f"{ROLLOUT}.dtype": "bf16"},
    {"data.filter_overlong_prompts_workers": 0},
    {f"{ROLLOUT}.multi_turn.format": "mine"},
    {
        f"{ROLLOUT}.checkpoint_engine.backend": "mine",
        f"{ROLLOUT}.checkpoint_engine.custom_backend_module": "package.module",
    },
)


@pytest.mark.parametrize("changed", OFF)
def test_what_nothing_reads_is_no_error(changed: dict[str, Any]) -> None:
    found = key_findings_of({**SOUND, **changed})
    assert [item for item in found if item[1].severity is Severity.ERROR] == []


NULLS = ("data.train_batch_size", "data.max_prompt_length", "trainer.nnodes", f"{ACTOR}.ppo_mini_batch_size")


@pytest.mark.parametrize(
    "changed", [{}, CRITIC, TEACHER, JUDGE, SEPARATE], ids=["plain", "critic", "teacher", "judge", "apart"]
)
@pytest.mark.parametrize("key", NULLS)
def test_null_is_told_once_and_breaks_no_other_check(key: str, changed: dict[str, Any]) -> None:
    places = {key: Place("spec.yaml", 3)}
    found = list(run_checks({**SOUND, **changed, key: None}, places.get))
    assert [item.id for item in found if item.place is not None] == ["ORB672"]
