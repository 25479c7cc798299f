"""Pass: which engines run where.

A CPU run is verl's real trainer on logical GPUs of Ray: one process each, FSDP2 over gloo, generation by transformers,
everything in float32 so that rollout and actor agree to the last digit. Settings that need CUDA kernels are decided
off.
"""

from __future__ import annotations

from typing import Any

from orbiter_spec.plan.decide import decide
from orbiter_spec.plan.model import Plan

CPU_WHY = "a CPU has no kernels for it"
CPU_SEQUENCES = 64
CPU_BUCKET_MEGABYTES = 8
USUAL_BUCKET_MEGABYTES = 2048
MEGABYTE = 1 << 20
FLOAT_BYTES = 4


def place_hardware(plan: Plan) -> Plan:
    """Decide nodes, GPUs and engines."""
    return decide(plan, "place_hardware", _cpu(plan) if plan.on_cpu else _gpu(plan))


def _gpu(plan: Plan) -> dict[str, tuple[Any, str]]:
    nodes = plan.get("hardware.nodes", 1)
    separate = plan.get("hardware.rollout.placement") == "separate"
    choices: dict[str, tuple[Any, str]] = {
        "hardware.nodes": (1, "one node is the least"),
        "hardware.gpus_per_node": (8, "the usual node"),
        "hardware.train.engine": ("fsdp2", "shards any Hugging Face model"),
        "hardware.rollout.engine": ("vllm", "verl's first choice"),
        "hardware.rollout.placement": ("colocated", "training and generation take turns on the same GPUs"),
        "hardware.rollout.asynchronous": (separate, "separate pools would idle in turns otherwise"),
        "hardware.storage_units": (max(2, 2 * int(nodes)), "each asks Ray for one CPU"),
    }
    if separate:
        choices["hardware.rollout.nodes"] = (1, "one node is the least")
        choices["hardware.rollout.gpus_per_node"] = (plan.get("hardware.gpus_per_node", 8), "as the training nodes")
    return choices | (_tensorrt(plan) if plan.get("hardware.rollout.engine") == "trtllm" else {})


def _tensorrt(plan: Plan) -> dict[str, tuple[Any, str]]:
    """TensorRT-LLM is sent no weight that is larger than the bucket: verl asserts it in the first sync."""
    largest = plan.model.vocab * plan.model.hidden * FLOAT_BYTES if plan.model is not None else 0
    if largest <= USUAL_BUCKET_MEGABYTES * MEGABYTE:
        return {}
    bucket = -(-largest // (MEGABYTE << 10)) << 10
    return {"hardware.rollout.weight_bucket_megabytes": (bucket, "holds the embedding in float32")}


def _cpu(plan: Plan) -> dict[str, tuple[Any, str]]:
    workers = plan.get("hardware.workers", 1)
    own = _cpu_vllm(plan) if plan.get("hardware.rollout.engine") == "vllm" else {}
    return own | {
        "hardware.nodes": (1, "this machine"),
        "hardware.workers": (1, "one training process"),
        "hardware.gpus_per_node": (workers, "one logical GPU for each worker"),
        "hardware.train.engine": ("fsdp2", "runs over gloo"),
        "hardware.train.engine_compile": (False, "compiling costs more than it saves here"),
        "hardware.train.compile": (False, "compiling costs more than it saves here"),
        "hardware.train.remove_padding": (False, CPU_WHY),
        "hardware.train.gradient_checkpointing": (False, "memory is not what is short here"),
        "hardware.train.dtype": ("float32", "rollout and actor then agree exactly"),
        "hardware.rollout.engine": ("transformers", "the CPU engine"),
        "hardware.rollout.placement": ("colocated", "this machine"),
        "hardware.rollout.asynchronous": (False, "two cores gain nothing from it"),
        "hardware.rollout.dtype": ("float32", "rollout and actor then agree exactly"),
        "hardware.rollout.cuda_graphs": (False, CPU_WHY),
        "hardware.rollout.tensor_parallel": (1, "a replica is one process"),
        "hardware.storage_units": (1, "rows of a CPU run fit one actor"),
        "rewards.workers": (1, "processes cost seconds to start"),
        "agent.workers": (1, "processes cost seconds to start"),
        "dataset.loader_workers": (0, "forks cost more than they save"),
    }


def _cpu_vllm(plan: Plan) -> dict[str, tuple[Any, str]]:
    """vLLM's defaults are for a GPU's memory. A weight that is larger than the bucket would stop the run."""
    choices: dict[str, tuple[Any, str]] = {
        "hardware.rollout.free_cache": (False, "there is no GPU memory to return"),
        "hardware.rollout.max_sequences": (CPU_SEQUENCES, "a few cores gain nothing from more"),
    }
    if plan.model is not None:
        largest = max(weight.rows * weight.columns for weight in plan.model.weights) * FLOAT_BYTES
        bucket = max(CPU_BUCKET_MEGABYTES, -(-largest // MEGABYTE))
        choices["hardware.rollout.weight_bucket_megabytes"] = (bucket, "holds the largest weight in float32")
    return choices
