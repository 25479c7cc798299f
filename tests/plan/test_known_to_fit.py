"""Calibration: runs that verl's documentation publishes as fitting are judged to fit, and on half the GPUs not.

Each published row becomes a spec. Half the GPUs means the same settings without offload; a single GPU has no half, so
those rows are judged on the first half of the claim only, and the table says so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.plan import Plan, Rows, make_plan
from orbiter_spec.plan.memory import FITS, TOO_LARGE
from orbiter_spec.spec.experiment import Experiment

PUBLISHED = Path(__file__).parents[3] / "shared" / "known-to-fit.json"
ENTRIES: list[dict[str, Any]] = json.loads(PUBLISHED.read_text())["entries"] if PUBLISHED.exists() else []
NAMES = [entry["name"] for entry in ENTRIES]
ARR = "actor_rollout_ref"

MODEL_OF_ENTRY = {"qwen2-70b_grpo_32_h20_fsdp_vllm": "Qwen/Qwen2-72B-Instruct"}
"""The script of this row leaves the path to the reader; its name says which model was meant."""

NO_HALF = {
    "qwen2-0.5b_grpo-lora_1_h100_fsdp_vllm": "one GPU has no half",
    "qwen2-1.5b_grpo-lora_1_h100_fsdp_vllm": "one GPU has no half",
    "qwen2-3b_grpo-lora_1_h100_fsdp_vllm": "one GPU has no half",
    "qwen2-7b_grpo-lora_1_h100_fsdp_vllm": "one GPU has no half",
}

pytestmark = pytest.mark.skipif(not ENTRIES, reason="the published table is not beside the checkout")


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_published_run_fits(entry: dict[str, Any]) -> None:
    memory = plan_of(entry, entry["gpus"], offload=True).memory
    assert memory is not None
    assert memory.verdict == FITS, memory.reason


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e["name"] not in NO_HALF], ids=lambda entry: entry["name"])
def test_half_the_gpus_without_offload_does_not_fit(entry: dict[str, Any]) -> None:
    memory = plan_of(entry, entry["gpus"] // 2, offload=False).memory
    assert memory is not None
    assert memory.verdict == TOO_LARGE, memory.reason


def test_every_row_without_a_half_has_one_gpu() -> None:
    single = {entry["name"] for entry in ENTRIES if entry["gpus"] == 1}
    assert set(NO_HALF) == single


def plan_of(entry: dict[str, Any], gpus: int, *, offload: bool) -> Plan:
    return make_plan(Experiment.model_validate(spec_of(entry, gpus, offload)), Rows(10_000, None))


def spec_of(entry: dict[str, Any], gpus: int, offload: bool) -> dict[str, Any]:
    given = entry["settings"]
    per_node = min(gpus, int(given["trainer.n_gpus_per_node"]))
    megatron = f"{ARR}.actor.megatron.tensor_model_parallel_size"
    tensor = min(gpus, int(given.get(megatron, 1)))
    sequence = int(given.get(f"{ARR}.actor.ulysses_sequence_parallel_size", 1))
    rank = given.get(f"{ARR}.model.lora_rank")
    model: dict[str, Any] = {"path": MODEL_OF_ENTRY.get(entry["name"], given[f"{ARR}.model.path"])}
    if rank is not None:
        model["lora"] = {"rank": int(rank), "alpha": int(given[f"{ARR}.model.lora_alpha"])}
    train: dict[str, Any] = {
        "engine": "megatron" if megatron in given else "fsdp",
        "offload": "all" if offload else "none",
        "micro_batch": micro_batch(given, "actor.ppo", gpus // sequence),
        "remove_padding": True,
    }
    train |= {"tensor_parallel": tensor} if megatron in given else {"sequence_parallel": sequence}
    rollout: dict[str, Any] = {
        "engine": "vllm",
        "tensor_parallel": min(gpus, int(given[f"{ARR}.rollout.tensor_model_parallel_size"])),
        "memory_fraction": float(given[f"{ARR}.rollout.gpu_memory_utilization"]),
    }
    scoring = micro_batch(given, "rollout.log_prob", gpus // sequence)
    if scoring:
        rollout["micro_batch"] = scoring
    return {
        "version": 1,
        "name": "published",
        "agent": {
            "model": model,
            "limits": {
                "prompt_tokens": int(given["data.max_prompt_length"]),
                "response_tokens": int(given["data.max_response_length"]),
            },
        },
        "dataset": {"train": "rows.parquet"},
        "rewards": ["rewards.py:score"],
        "algorithm": {
            "name": "grpo",
            "entropy_coefficient": float(given[f"{ARR}.actor.entropy_coeff"]),
            "batch": {
                "prompts": int(given["data.train_batch_size"]),
                "minibatch": int(given[f"{ARR}.actor.ppo_mini_batch_size"]),
                "samples_per_prompt": int(given[f"{ARR}.rollout.n"]),
            },
        },
        "hardware": {
            "accelerator": entry["gpu"],
            "nodes": gpus // per_node,
            "gpus_per_node": per_node,
            "train": train,
            "rollout": rollout,
        },
    }


def micro_batch(given: dict[str, str], prefix: str, ranks: int) -> dict[str, Any]:
    """The micro-batch of one rank; rows of old releases count those of all ranks together."""
    if given.get(f"{ARR}.actor.use_dynamic_bsz") == "True":
        return {"dynamic": True, "tokens": int(given[f"{ARR}.actor.ppo_max_token_len_per_gpu"])}
    each = given.get(f"{ARR}.{prefix}_micro_batch_size_per_gpu")
    if each is not None:
        return {"sequences": int(each)}
    return {"sequences": max(1, int(given[f"{ARR}.{prefix}_micro_batch_size"]) // max(1, ranks))}
