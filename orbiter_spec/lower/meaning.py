"""What a difference between two configurations means: other results, other speed or memory, or only other names.

Two lists of key patterns, read in order; what neither names changes results. When in doubt a key is left to results: a
difference that is reported too seriously costs a look, the opposite costs a wrong conclusion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

NAMES = (
    "trainer.project_name",
    "trainer.experiment_name",
    "trainer.logger",
    "trainer.default_local_dir",
    "trainer.default_hdfs_dir",
    "trainer.*_data_dir",
    "trainer.log_val_generations",
    "*.trace.*",
    "*.prometheus.*",
    "*profiler.*",
    "ray_kwargs.timeline_json_file",
)
SPEED = (
    "trainer.nnodes",
    "trainer.n_gpus_per_node",
    "trainer.save_freq",
    "trainer.max_*_ckpt_to_keep",
    "trainer.balance_batch",
    "trainer.ray_wait_register_center_timeout",
    "trainer.device",
    "ray_kwargs.*",
    "transfer_queue.*",
    "*micro_batch_size*",
    "*max_token_len_per_gpu",
    "*use_dynamic_bsz",
    "*_offload",
    "*offload_policy",
    "*_parallel_size",
    "*fsdp_size",
    "*reshard_after_forward",
    "*forward_prefetch",
    "*gradient_checkpointing",
    "*use_torch_compile",
    "*use_remove_padding",
    "*.strategy",
    "*num_workers",
    "*filter_overlong_prompts_workers",
    "*gpu_memory_utilization",
    "*max_num_batched_tokens",
    "*max_num_seqs",
    "*enforce_eager",
    "*cudagraph_capture_sizes",
    "*free_cache_engine",
    "*enable_chunked_prefill",
    "*enable_prefix_caching",
    "*disable_log_stats",
    "*update_weights_bucket_megabytes",
    "*layered_summon",
    "*use_shm",
    "*nccl_timeout",
    "actor_rollout_ref.rollout.nnodes",
    "actor_rollout_ref.rollout.n_gpus_per_node",
)


class Meaning(StrEnum):
    """How much a difference matters."""

    RESULTS = "changes results"
    SPEED = "changes speed or memory"
    NAMES = "only names"


@dataclass(frozen=True, slots=True)
class Difference:
    """One key with its two values; `ABSENT` stands for a key that one side does not have."""

    key: str
    left: Any
    right: Any
    meaning: Meaning


ABSENT = "(absent)"


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted key to leaf; lists and empty mappings are leaves."""
    flat: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping) and value:
            flat |= flatten(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def meaning_of(key: str) -> Meaning:
    """What a difference at `key` means."""
    for patterns, meaning in ((NAMES, Meaning.NAMES), (SPEED, Meaning.SPEED)):
        if any(fnmatchcase(key, pattern) for pattern in patterns):
            return meaning
    return Meaning.RESULTS


def differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[Difference]:
    """Every key of two flat configurations whose values differ: first what changes results, then by key."""
    keys = sorted({*left, *right})
    found = [
        Difference(key, left.get(key, ABSENT), right.get(key, ABSENT), meaning_of(key))
        for key in keys
        if left.get(key, ABSENT) != right.get(key, ABSENT)
    ]
    return sorted(found, key=lambda difference: list(Meaning).index(difference.meaning))
