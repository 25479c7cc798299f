"""engine arguments that overrule the rollout's keys

## What it checks

`rollout.engine_kwargs` of the engine in use does not give again, with another value, what a key of the rollout says:
sizes, lengths, memory, precision, caching. The same for reward models and teachers that are on.

## Why it matters

verl lays these arguments over its own. It goes on to place workers, cut prompts and count memory by the rollout's keys,
and the engine does something else.

## Bad

```yaml
actor_rollout_ref.rollout.gpu_memory_utilization: 0.5
actor_rollout_ref.rollout.engine_kwargs.vllm.gpu_memory_utilization: 0.85
```

## Good

```yaml
actor_rollout_ref.rollout.gpu_memory_utilization: 0.85
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import engine_of, engines_served

SAME = ("max_model_len", "max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization", "dtype", "load_format")
SAME_SWITCHES = (
    "enforce_eager",
    "enable_chunked_prefill",
    "enable_prefix_caching",
    "enable_sleep_mode",
    "disable_log_stats",
    "logprobs_mode",
    "scheduling_policy",
    "quantization",
)
ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "vllm": {
        **{word: word for word in (*SAME, *SAME_SWITCHES)},
        "tensor_parallel_size": "tensor_model_parallel_size",
        "data_parallel_size": "data_parallel_size",
        "pipeline_parallel_size": "pipeline_model_parallel_size",
    },
    "sglang": {
        "tp_size": "tensor_model_parallel_size",
        "mem_fraction_static": "gpu_memory_utilization",
        "max_running_requests": "max_num_seqs",
        "context_length": "max_model_len",
        "dtype": "dtype",
        "load_format": "load_format",
        "quantization": "quantization",
        "disable_cuda_graph": "enforce_eager",
        "skip_tokenizer_init": "skip_tokenizer_init",
        "ep_size": "expert_parallel_size",
        "dp_size": "data_parallel_size",
    },
    "trtllm": {
        "tensor_parallel_size": "tensor_model_parallel_size",
        "moe_expert_parallel_size": "expert_parallel_size",
        "moe_tensor_parallel_size": "moe_tensor_parallel_size",
        "max_seq_len": "max_model_len",
        "max_batch_size": "max_num_seqs",
        "max_num_tokens": "max_num_batched_tokens",
        "enable_chunked_prefill": "enable_chunked_prefill",
        "skip_tokenizer_init": "skip_tokenizer_init",
        "dtype": "dtype",
        "load_format": "load_format",
        "kv_cache_config.free_gpu_memory_fraction": "gpu_memory_utilization",
        "kv_cache_config.enable_block_reuse": "enable_prefix_caching",
    },
}


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare each engine's arguments with the keys beside them."""
    for home in engines_served(settings):
        engine = engine_of(settings, home)
        for argument, word in ARGUMENTS.get(engine, {}).items():
            key, said = f"{home}.engine_kwargs.{engine}.{argument}", f"{home}.{word}"
            value, other = settings.get(key), settings.get(said)
            if value is None or other is None or value == other:
                continue
            yield KeyFinding(
                key,
                f"{value!r}, and {said} = {other!r}",
                f"leave it out, and set {said}",
                related=((said, f"{other!r}"),),
                severity=Severity.WARNING,
            )
