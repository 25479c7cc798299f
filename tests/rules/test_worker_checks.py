"""Checks of what verl's workers assert late, branch by branch: a sound configuration with a few keys changed.

The second half asks the installed verl: the classes, or the source where a class needs a GPU to be imported.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks import orb664_engine_lacks_a_part as lacks
from orbiter_spec.lower.checks import orb685_engine_does_not_read_it as unread
from orbiter_spec.lower.checks import orb687_weight_sync_arguments as sync
from tests.rules.test_check_pages import SOUND
from tests.rules.test_check_pages import findings_of as key_findings_of

ACTOR, ROLLOUT, MODEL = "actor_rollout_ref.actor", "actor_rollout_ref.rollout", "actor_rollout_ref.model"
REFERENCE = "actor_rollout_ref.ref"
MEGATRON = {f"{ACTOR}.strategy": "megatron", f"{REFERENCE}.strategy": "megatron", "critic.strategy": "megatron"}
TRANSFORMER = f"{ACTOR}.megatron.override_transformer_config"
VEOMNI = {f"{ACTOR}.strategy": "veomni", f"{REFERENCE}.strategy": "veomni", "critic.strategy": "veomni"}
TITAN = {f"{ACTOR}.strategy": "torchtitan", f"{REFERENCE}.strategy": "torchtitan", "critic.strategy": "torchtitan"}
CRITIC = {"algorithm.adv_estimator": "gae", "critic.model.path": "org/model"}
SEPARATE = {
    "trainer.v1.trainer_mode": "separate_async",
    f"{ROLLOUT}.nnodes": 1,
    f"{ROLLOUT}.n_gpus_per_node": 8,
    f"{ROLLOUT}.checkpoint_engine.backend": "nccl",
}
DELTA = {**SEPARATE, f"{ROLLOUT}.checkpoint_engine.backend": "delta_sharded"}
SYNC = f"{ROLLOUT}.checkpoint_engine.engine_kwargs"
QUANTISED = {f"{ACTOR}.fsdp_config.qat.enable": True, f"{ACTOR}.fsdp_config.qat.quantization_config_path": "four.json"}
DRAFTS = {f"{MODEL}.mtp.enable": True, f"{MODEL}.mtp.enable_rollout": True}
TEACHER = {
    "distillation.enabled": True,
    "distillation.nnodes": 1,
    "distillation.n_gpus_per_node": 2,
    "distillation.teacher_models.teacher_model.model_path": "org/teacher",
}
INFERENCE = "distillation.teacher_models.teacher_model.inference"
DYNAMIC = {
    **MEGATRON,
    f"{ACTOR}.megatron.dynamic_context_parallel": True,
    f"{ACTOR}.megatron.max_seqlen_per_dp_cp_rank": 8192,
}
ROUTES = f"{ACTOR}.megatron.router_replay.mode"

REFUSED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("ORB614", f"{ROLLOUT}.logprobs_mode", {f"{ROLLOUT}.logprobs_mode": "log_probs"}),
    ("ORB614", f"{ROLLOUT}.scheduling_policy", {f"{ROLLOUT}.scheduling_policy": "lifo"}),
    (
        "ORB614",
        f"{ACTOR}.fsdp_config.mixed_precision.reduce_dtype",
        {f"{ACTOR}.fsdp_config.mixed_precision.reduce_dtype": "fp8"},
    ),
    ("ORB617", f"{INFERENCE}.name", {**TEACHER, f"{INFERENCE}.name": "trtllm"}),
    ("ORB620", ROUTES, {**MEGATRON, ROUTES: "R3"}),
    (
        "ORB620",
        ROUTES,
        {
            **MEGATRON,
            ROUTES: "R3",
            f"{ROLLOUT}.name": "trtllm",
            f"{ROLLOUT}.enable_rollout_routing_replay": True,
        },
    ),
    ("ORB623", f"{TRANSFORMER}.fp8", {**DYNAMIC, f"{TRANSFORMER}.fp8": "hybrid"}),
    (
        "ORB623",
        f"{REFERENCE}.megatron.dynamic_context_parallel",
        {**DYNAMIC, f"{ACTOR}.use_kl_loss": True, f"{REFERENCE}.megatron.dynamic_context_parallel": False},
    ),
    (
        "ORB625",
        f"{ROLLOUT}.disaggregation.decode_replicas",
        {
            f"{ROLLOUT}.disaggregation.enabled": True,
            f"{ROLLOUT}.disaggregation.decode_replicas": 2,
            f"{ROLLOUT}.tensor_model_parallel_size": 1,
        },
    ),
    ("ORB641", f"{ROLLOUT}.dtype", {**DELTA, f"{ROLLOUT}.dtype": "float16"}),
    ("ORB641", f"{MODEL}.mtp.enable_rollout", {**DELTA, **DRAFTS}),
    ("ORB664", f"{ACTOR}.strategy", {**TITAN, **SEPARATE}),
    ("ORB665", f"{ROLLOUT}.layered_summon", {**SEPARATE, f"{MODEL}.lora_rank": 8, f"{ROLLOUT}.layered_summon": True}),
    (
        "ORB666",
        f"{MODEL}.override_config.attn_implementation",
        {f"{MODEL}.override_config.attn_implementation": "flash_attn_2"},
    ),
    ("ORB668", f"{ACTOR}.optim.betas", {f"{ACTOR}.optim.betas": [0.9, 1.0]}),
    (
        "ORB668",
        f"{ACTOR}.optim.lr_warmup_steps",
        {**MEGATRON, f"{ACTOR}.optim.lr_warmup_steps": 50, f"{ACTOR}.optim.lr_decay_steps": 50},
    ),
    ("ORB668", f"{ACTOR}.optim.min_lr", {**MEGATRON, f"{ACTOR}.optim.lr": 1e-6, f"{ACTOR}.optim.min_lr": 1e-5}),
    ("ORB668", f"{ACTOR}.optim.lr_decay_style", {**MEGATRON, f"{ACTOR}.optim.lr_decay_style": "WSD"}),
    ("ORB668", f"{ACTOR}.optim.decay_type", {**TITAN, f"{ACTOR}.optim.decay_type": "constant"}),
    (
        "ORB669",
        f"{ACTOR}.megatron.expert_model_parallel_size",
        {**MEGATRON, f"{ACTOR}.megatron.expert_model_parallel_size": 3},
    ),
    (
        "ORB669",
        f"{ACTOR}.megatron.virtual_pipeline_model_parallel_size",
        {**MEGATRON, f"{ACTOR}.megatron.virtual_pipeline_model_parallel_size": 2},
    ),
    ("ORB669", f"{ACTOR}.veomni.fsdp_size", {**VEOMNI, f"{ACTOR}.veomni.fsdp_size": 3}),
    (
        "ORB669",
        f"{ACTOR}.torchtitan.data_parallel_shard_size",
        {**TITAN, f"{ACTOR}.torchtitan.data_parallel_shard_size": 4},
    ),
    (
        "ORB670",
        f"{ACTOR}.fsdp_config.pad_to_length_bucket",
        {f"{ACTOR}.fsdp_config.pad_to_length": True, f"{ACTOR}.fsdp_config.pad_to_length_bucket": 0},
    ),
    ("ORB670", f"{MODEL}.mtp.num_speculative_tokens", {**DRAFTS, f"{MODEL}.mtp.num_speculative_tokens": 0}),
    ("ORB671", f"{ROLLOUT}.top_k", {f"{ROLLOUT}.name": "sglang", f"{ROLLOUT}.top_k": 0}),
    (
        "ORB681",
        f"{MODEL}.target_modules",
        {f"{ROLLOUT}.name": "sglang", f"{MODEL}.lora_rank": 8, f"{MODEL}.target_modules": ".*q_proj"},
    ),
    (
        "ORB681",
        f"{ACTOR}.fsdp_config.wrap_policy.transformer_layer_cls_to_wrap",
        {
            f"{ACTOR}.strategy": "fsdp",
            f"{ACTOR}.fsdp_config.wrap_policy.transformer_layer_cls_to_wrap": "Qwen2DecoderLayer",
        },
    ),
    (
        "ORB686",
        f"{ROLLOUT}.engine_kwargs.vllm.worker_extension_cls",
        {f"{ROLLOUT}.engine_kwargs.vllm.worker_extension_cls": "mine.Extension"},
    ),
    ("ORB687", f"{SYNC}.delta_sharded.encoding", {**DELTA, f"{SYNC}.delta_sharded.encoding": "bitmap"}),
    ("ORB688", f"{ROLLOUT}.name", {**QUANTISED, f"{ROLLOUT}.name": "sglang"}),
    ("ORB688", f"{ACTOR}.fsdp_config.qat.enable", {f"{ACTOR}.fsdp_config.qat.enable": True}),
    (
        "ORB688",
        f"{ACTOR}.megatron.qat.mode",
        {**MEGATRON, f"{ACTOR}.megatron.qat.enable": True, f"{ACTOR}.megatron.qat.mode": "w4a4"},
    ),
    ("ORB689", f"{TRANSFORMER}.recompute_granularity", {**MEGATRON, f"{TRANSFORMER}.recompute_granularity": "some"}),
    (
        "ORB689",
        f"{TRANSFORMER}.recompute_num_layers",
        {
            **MEGATRON,
            f"{TRANSFORMER}.recompute_granularity": "selective",
            f"{TRANSFORMER}.recompute_num_layers": 1,
        },
    ),
    (
        "ORB689",
        f"{TRANSFORMER}.recompute_num_layers",
        {
            **MEGATRON,
            f"{MODEL}.mtp.enable": True,
            f"{TRANSFORMER}.recompute_granularity": "full",
            f"{TRANSFORMER}.recompute_method": "uniform",
            f"{TRANSFORMER}.recompute_num_layers": 2,
        },
    ),
    ("ORB689", f"{TRANSFORMER}.attention_backend", {**MEGATRON, f"{TRANSFORMER}.attention_backend": "flash_attn"}),
    (
        "ORB689",
        f"{MODEL}.use_remove_padding",
        {**MEGATRON, f"{MODEL}.use_remove_padding": False, f"{TRANSFORMER}.calculate_per_token_loss": True},
    ),
    (
        "ORB689",
        f"{ACTOR}.megatron.sequence_parallel",
        {
            **MEGATRON,
            f"{ACTOR}.megatron.sequence_parallel": False,
            f"{ACTOR}.megatron.tensor_model_parallel_size": 2,
            f"{ACTOR}.megatron.expert_model_parallel_size": 4,
        },
    ),
    (
        "ORB689",
        f"{ACTOR}.megatron.use_dist_checkpointing",
        {**MEGATRON, f"{ACTOR}.megatron.use_dist_checkpointing": True},
    ),
    ("ORB689", f"{MODEL}.lora.type", {**MEGATRON, f"{MODEL}.lora.rank": 8, f"{MODEL}.lora.type": "qlora"}),
    ("ORB691", f"{ROLLOUT}.cudagraph_capture_sizes", {f"{ROLLOUT}.cudagraph_capture_sizes": [1, 0]}),
)


@pytest.mark.parametrize(("name", "key", "changed"), REFUSED, ids=[f"{name}-{key}" for name, key, _ in REFUSED])
def test_it_is_refused(name: str, key: str, changed: dict[str, Any]) -> None:
    found = key_findings_of({**SOUND, **changed})
    assert (name, key) in [(found_id, item.key) for found_id, item in found if item.severity is Severity.ERROR]


POINTED_OUT: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("ORB620", f"{ROLLOUT}.enable_rollout_routing_replay", {f"{ROLLOUT}.enable_rollout_routing_replay": True}),
    (
        "ORB632",
        f"{MODEL}.lora_adapter_path",
        {**MEGATRON, f"{MODEL}.lora.rank": 8, f"{MODEL}.lora_adapter_path": "adapter"},
    ),
    (
        "ORB663",
        f"{MODEL}.override_config.rope_theta",
        {
            **MEGATRON,
            f"{MODEL}.override_config.rope_theta": 5e6,
            f"{ROLLOUT}.engine_kwargs.vllm.hf_overrides": {"a": 1},
        },
    ),
    (
        "ORB663",
        f"{MODEL}.override_config.model_config.sliding_window",
        {f"{ROLLOUT}.name": "sglang", f"{MODEL}.override_config.model_config.sliding_window": 4096},
    ),
    ("ORB665", f"{ROLLOUT}.layered_summon", {f"{ROLLOUT}.layered_summon": True}),
    (
        "ORB667",
        "critic.megatron.context_parallel_size",
        {**MEGATRON, **CRITIC, "critic.megatron.context_parallel_size": 2},
    ),
    ("ORB668", f"{ACTOR}.optim.lr_warmup_steps", {**VEOMNI, f"{ACTOR}.optim.lr_warmup_steps": 10}),
    ("ORB673", f"{MODEL}.mtp.enable_train", {f"{MODEL}.mtp.enable": True, f"{MODEL}.mtp.enable_train": True}),
    (
        "ORB673",
        f"{ACTOR}.fsdp_config.pad_to_length",
        {f"{ACTOR}.fsdp_config.pad_to_length": True, f"{MODEL}.use_remove_padding": False},
    ),
    (
        "ORB682",
        f"{ROLLOUT}.engine_kwargs.trtllm.kv_cache_config.free_gpu_memory_fraction",
        {
            f"{ROLLOUT}.name": "trtllm",
            f"{ROLLOUT}.gpu_memory_utilization": 0.5,
            f"{ROLLOUT}.engine_kwargs.trtllm.kv_cache_config.free_gpu_memory_fraction": 0.8,
        },
    ),
    (
        "ORB612",
        f"{MODEL}.override_config.moe_config.freeze_moe_router",
        {f"{MODEL}.override_config.moe_config.freeze_moe_router": True},
    ),
    ("ORB683", f"{ACTOR}.optim.exp_avg_dtype", {**MEGATRON, f"{ACTOR}.optim.exp_avg_dtype": "bf16"}),
    ("ORB683", f"{ROLLOUT}.checkpoint_engine.backend", {f"{ROLLOUT}.checkpoint_engine.backend": "nccl"}),
    (
        "ORB685",
        f"{ROLLOUT}.engine_kwargs.sglang.chunked_prefill_size",
        {f"{ROLLOUT}.engine_kwargs.sglang.chunked_prefill_size": 1},
    ),
    ("ORB685", f"{ROLLOUT}.enforce_eager", {f"{ROLLOUT}.name": "trtllm", f"{ROLLOUT}.enforce_eager": True}),
    (
        "ORB686",
        f"{ROLLOUT}.engine_kwargs.vllm.max_lora_rank",
        {f"{MODEL}.lora_rank": 8, f"{ROLLOUT}.engine_kwargs.vllm.max_lora_rank": 64},
    ),
    (
        "ORB686",
        f"{ROLLOUT}.engine_kwargs.vllm.hf_overrides.rope_theta",
        {f"{ROLLOUT}.quantization": "fp8", f"{ROLLOUT}.engine_kwargs.vllm.hf_overrides.rope_theta": 5e6},
    ),
    ("ORB687", f"{SYNC}.nixl.device", {**SEPARATE, f"{SYNC}.nixl.device": "cpu"}),
    ("ORB688", f"{ACTOR}.qat.enable", {f"{ACTOR}.qat.enable": True}),
    ("ORB688", f"{ACTOR}.fsdp_config.qat.group_size", {**QUANTISED, f"{ACTOR}.fsdp_config.qat.group_size": 32}),
    ("ORB688", f"{ROLLOUT}.quantization", {**QUANTISED, f"{ROLLOUT}.quantization": "fp8"}),
    ("ORB689", f"{TRANSFORMER}.recompute_method", {**MEGATRON, f"{TRANSFORMER}.recompute_method": "uniform"}),
    (
        "ORB689",
        f"{MODEL}.use_fused_kernels",
        {**MEGATRON, f"{MODEL}.use_fused_kernels": True, f"{MODEL}.mtp.enable": True},
    ),
    ("ORB691", f"{ROLLOUT}.enable_sleep_mode", {f"{ROLLOUT}.enable_sleep_mode": False}),
    (
        "ORB691",
        f"{ROLLOUT}.logprobs_mode",
        {
            f"{ROLLOUT}.logprobs_mode": "raw_logprobs",
            f"{ROLLOUT}.temperature": 0.7,
            f"{ROLLOUT}.calculate_log_probs": True,
            "algorithm.rollout_correction.rollout_is": "token",
        },
    ),
    (
        "ORB692",
        f"{INFERENCE}.load_format",
        {**TEACHER, f"{INFERENCE}.load_format": "dummy", f"{INFERENCE}.name": "vllm"},
    ),
)


@pytest.mark.parametrize(("name", "key", "changed"), POINTED_OUT, ids=[f"{n}-{key}" for n, key, _ in POINTED_OUT])
def test_it_is_pointed_out(name: str, key: str, changed: dict[str, Any]) -> None:
    found = key_findings_of({**SOUND, **changed})
    assert [(found_id, item.key, item.severity) for found_id, item in found] == [(name, key, Severity.WARNING)]


def home() -> Path:
    return Path(pytest.importorskip("verl").__file__).parent


def test_engines_read_what_is_said_to_be_read() -> None:
    """The adapters of each engine, and the servers they start, name the setting of the rollout or they do not."""
    for word, (_, readers) in unread.READERS.items():
        for engine in unread.ENGINES:
            files = (home() / "workers" / "rollout" / f"{engine}_rollout").glob("*.py")
            text = "\n".join(path.read_text(encoding="utf-8") for path in files)
            read = re.search(rf'config\.{word}\b|config\.get\("{word}"', text) is not None
            assert read == (engine in readers), (word, engine)


def test_backends_take_these_arguments() -> None:
    """Modules of backends need their transports; their constructors are read without importing them.

    Ascend's module registers a second `nccl`, and comes first.
    """
    taken: dict[str, set[str]] = {}
    for path in sorted((home() / "checkpoint_engine").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [ast.unparse(word) for word in node.decorator_list] if isinstance(node, ast.ClassDef) else []
            found = next((re.search(r"Registry\.register\('(\w+)'", name) for name in names), None)
            if found and isinstance(node, ast.ClassDef):
                made = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
                words = [arg.arg for part in made for arg in (*part.args.args, *part.args.kwonlyargs)]
                taken[found[1]] = {word for word in words if word not in ("self", "bucket_size", "is_master")}
    taken["delta_sharded"] |= taken["nccl"] - {"args", "kwargs"}
    assert taken == {name: set(words) for name, words in sync.TAKES.items()}


def test_these_engines_have_no_value_model() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (home() / "workers" / "engine").rglob("*.py"))
    pattern = r'register\(\s*model_type="(\w+)",\s*backend=(\[[^\]]*\]|"\w+")'
    made = {(kind, name) for kind, names in re.findall(pattern, text) for name in re.findall(r"\w+", names)}
    engines = {name for _, name in made}
    assert engines - {name for kind, name in made if kind == "value_model"} == set(lacks.WITHOUT)


def test_quantised_training_needs_the_file_of_the_rollout() -> None:
    pytest.importorskip("verl")
    core = (home() / "utils" / "qat" / "core.py").read_text(encoding="utf-8")
    assert 'raise ValueError("quantization_config_path is required when QAT is enabled")' in core
    quantise = (home() / "utils" / "modelopt" / "quantize.py").read_text(encoding="utf-8")
    assert "Only 'w4a16' is supported" in quantise
