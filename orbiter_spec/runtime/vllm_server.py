"""verl's vLLM server and replica with what a CPU needs: which worker class, which executor, how large a cache.

vLLM would take a share of the machine's memory for its KV cache. Here it gets what all the sequences it may run at
once can fill, and no more than a quarter of the memory that is free. vLLM settles its threads when its process starts
and takes no other number later, so the process is started with the right one.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psutil
import ray
from verl.workers.rollout.vllm_rollout.vllm_async_server import vLLMHttpServer, vLLMReplica

from orbiter_spec.runtime.threads import thread_count
from orbiter_spec.runtime.vllm_cpu import WORKER_EXTENSION

BLOCK_TOKENS = 128
FLOAT_BYTES = 4
LEAST_BYTES = 64 << 20
SPARE_BLOCKS = 8


def cache_bytes(config: Any, sequences: int, tokens: int, free: int) -> int:
    """Bytes of KV cache for `sequences` of `tokens` each under a transformers `config`, with `free` bytes at hand."""
    text = config.get_text_config()
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    width = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    block = 2 * int(text.num_hidden_layers * heads * width) * FLOAT_BYTES * BLOCK_TOKENS
    blocks = sequences * -(-tokens // BLOCK_TOKENS) + SPARE_BLOCKS
    return max(LEAST_BYTES, min(block * blocks, free // 4))


def stored_parameters(folder: Path) -> int:
    """About how many parameters the model in `folder` has, at two bytes each."""
    return sum(path.stat().st_size for path in folder.glob("*.safetensors")) // 2


class CpuVllmServer(vLLMHttpServer):  # type: ignore[misc]
    """One engine for each replica, in a process of its own below this actor."""

    def _get_worker_extension_cls(self) -> str:
        return WORKER_EXTENSION

    def _preprocess_engine_kwargs(self, engine_kwargs: dict[str, Any]) -> None:
        super()._preprocess_engine_kwargs(engine_kwargs)
        config = self.config
        replicas = int(ray.cluster_resources().get("GPU", 1))
        parameters = stored_parameters(Path(self.model_config.local_path))
        os.environ["OMP_NUM_THREADS"] = str(thread_count(parameters, replicas, len(os.sched_getaffinity(0))))
        if config.tensor_model_parallel_size == 1:
            engine_kwargs.setdefault("distributed_executor_backend", "uni")
        free = psutil.virtual_memory().available
        size = cache_bytes(self.model_config.hf_config, config.max_num_seqs, config.max_model_len, free)
        engine_kwargs.setdefault("kv_cache_memory_bytes", size)


class CpuVllmReplica(vLLMReplica):  # type: ignore[misc]
    """verl's replica, which starts the server above."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.server_class = ray.remote(CpuVllmServer)
