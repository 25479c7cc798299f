"""The specs on which the plan is held to verl: every mode, pool, parallel size, algorithm and reward layout."""

from __future__ import annotations

from itertools import cycle
from typing import Any

from orbiter_spec.plan import Plan, Rows, make_plan
from orbiter_spec.spec.experiment import Experiment

ALGORITHMS = ("grpo", "ppo", "rloo", "dapo", "reinforce++", "remax", "gspo", "dr_grpo", "opo", "gpg", "gdpo")
Spec = dict[str, Any]


def plan_of(spec: Spec) -> Plan:
    """The plan of a grid entry, over 100 000 rows."""
    return make_plan(Experiment.model_validate(spec), Rows(100_000, None), {"dataset.train": "data/train.parquet"})


def spec(hardware: Spec, **sections: Any) -> Spec:
    """A complete spec around `hardware`."""
    return {
        "version": 1,
        "name": "grid",
        "agent": {"model": "Qwen/Qwen2.5-0.5B-Instruct"},
        "dataset": {"train": "rows.parquet"},
        "rewards": ["rewards.py:score"],
        "algorithm": "grpo",
        "hardware": hardware,
        **sections,
    }


def gpus(nodes: int, each: int, **more: Any) -> Spec:
    """Hardware of `nodes` x `each` GPUs."""
    return {"accelerator": "H100", "nodes": nodes, "gpus_per_node": each, **more}


def _colocated() -> dict[str, Spec]:
    names = cycle(ALGORITHMS)
    grid: dict[str, Spec] = {}
    for nodes, each in ((1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8), (3, 4), (32, 8)):
        for tensor in (1, 2, 4):
            if each % tensor == 0:
                rollout = {"tensor_parallel": tensor, "asynchronous": (nodes + tensor) % 2 == 0}
                name = next(names)
                grid[f"{name} {nodes}x{each} tp{tensor}"] = spec(gpus(nodes, each, rollout=rollout), algorithm=name)
    return grid


def _wide_replicas() -> dict[str, Spec]:
    shapes = {
        "data 2": {"tensor_parallel": 2, "data_parallel": 2},
        "data 4 expert 8": {"tensor_parallel": 2, "data_parallel": 4, "expert_parallel": 8},
        "sglang tensor 8": {"engine": "sglang", "tensor_parallel": 8},
        "two nodes": {"tensor_parallel": 8, "data_parallel": 2},
        "tensor 16": {"tensor_parallel": 16},
        "sglang": {"engine": "sglang", "tensor_parallel": 2},
        "prefill and decode": {
            "tensor_parallel": 2,
            "disaggregation": {"prefill_replicas": 1, "decode_replicas": 2, "decode_tensor_parallel": 1},
        },
    }
    return {f"wide {name}": spec(gpus(2, 8, rollout=rollout)) for name, rollout in shapes.items()}


def _separate() -> dict[str, Spec]:
    grid: dict[str, Spec] = {}
    for nodes, each, rollout_nodes, rollout_each, tensor in (
        (1, 8, 1, 8, 1),
        (1, 8, 1, 8, 4),
        (1, 4, 1, 4, 2),
        (2, 8, 1, 8, 8),
        (2, 8, 4, 8, 2),
        (2, 8, 4, 8, 16),
        (2, 8, 5, 8, 16),
        (1, 4, 1, 6, 4),
        (1, 2, 3, 2, 2),
        (4, 8, 2, 4, 4),
        (1, 8, 1, 2, 1),
        (1, 4, 3, 4, 4),
    ):
        rollout = {
            "placement": "separate",
            "nodes": rollout_nodes,
            "gpus_per_node": rollout_each,
            "tensor_parallel": tensor,
        }
        grid[f"separate {nodes}x{each} + {rollout_nodes}x{rollout_each} tp{tensor}"] = spec(
            gpus(nodes, each, rollout=rollout)
        )
    return grid


def _engines() -> dict[str, Spec]:
    engines = {
        "fsdp": {"engine": "fsdp"},
        "fsdp sequence 4": {"engine": "fsdp", "sequence_parallel": 4},
        "fsdp2 sequence 2": {"engine": "fsdp2", "sequence_parallel": 2},
        "fsdp2 shard 8": {"engine": "fsdp2", "shard_size": 8},
        "megatron tensor 8": {"engine": "megatron", "tensor_parallel": 8},
        "megatron 4x2": {"engine": "megatron", "tensor_parallel": 4, "pipeline_parallel": 2},
        "megatron experts": {"engine": "megatron", "tensor_parallel": 2, "expert_parallel": 8},
        "veomni": {"engine": "veomni", "sequence_parallel": 2},
    }
    return {
        f"engine {name}": spec(gpus(2, 8, train=train), algorithm=algorithm)
        for (name, train), algorithm in zip(engines.items(), cycle(("grpo", "ppo")), strict=False)
    }


def _rewards() -> dict[str, Spec]:
    parts = ["rewards.py:score"]
    judge = {"path": "org/judge"}
    rewards = {
        "two workers": {"parts": parts, "workers": 2},
        "remote 1": {"parts": parts, "manager": "remote", "workers": 1},
        "remote 3": {"parts": parts, "manager": "remote", "workers": 3},
        "remote 8": {"parts": parts, "manager": "remote"},
        "judge colocated": {"parts": parts, "model": judge},
        "judge 1x8": {"parts": parts, "model": {**judge, "nodes": 1}},
        "judge 1x4 tp4": {"parts": parts, "model": {**judge, "nodes": 1, "gpus_per_node": 4, "tensor_parallel": 4}},
        "judge 2x4 tp1": {"parts": parts, "model": {**judge, "nodes": 2, "gpus_per_node": 4, "tensor_parallel": 1}},
        "judge dp2": {"parts": parts, "model": {**judge, "nodes": 1, "tensor_parallel": 2, "data_parallel": 2}},
    }
    return {f"rewards {name}": spec(gpus(1, 8), rewards=reward) for name, reward in rewards.items()}


def _teachers() -> dict[str, Spec]:
    distillations: dict[str, Spec] = {
        "one": {"teachers": ["org/teacher"], "gpus_per_node": 2},
        "four replicas": {"teachers": [{"model": "org/teacher", "replicas": 4, "tensor_parallel": 2}]},
        "wide": {"teachers": [{"model": "org/teacher", "tensor_parallel": 8}]},
        "two nodes": {"teachers": [{"model": "org/teacher", "replicas": 2, "tensor_parallel": 8}], "nodes": 2},
        "two teachers": {
            "teachers": [
                {"model": "org/a", "name": "a", "key": "a", "tensor_parallel": 4},
                {"model": "org/b", "name": "b", "key": "b", "tensor_parallel": 2, "replicas": 2},
            ]
        },
    }
    return {
        f"teacher {name}": spec(gpus(1, 8), algorithm={"name": "grpo", "distillation": distillation})
        for name, distillation in distillations.items()
    }


def _models() -> dict[str, Spec]:
    lora = {"model": {"path": "Qwen/Qwen2.5-7B-Instruct", "lora": {"rank": 32}}}
    judge = {"parts": ["rewards.py:score"], "model": {"path": "org/judge", "nodes": 1, "gpus_per_node": 4}}
    together = {"name": "ppo", "kl": "reward", "distillation": {"teachers": ["org/t"], "gpus_per_node": 2}}
    apart = {"placement": "separate", "nodes": 1, "gpus_per_node": 4, "tensor_parallel": 2}
    return {
        "lora": spec(gpus(1, 2), agent=lora),
        "lora ppo": spec(gpus(2, 4), agent=lora, algorithm={"name": "ppo", "kl": "both"}),
        "ppo with reference": spec(gpus(1, 8), algorithm={"name": "ppo", "kl": "reward"}),
        "grpo without reference": spec(gpus(1, 8), algorithm={"name": "grpo", "kl": "none"}),
        "planned 7B": spec(gpus(1, 8), agent={"model": "Qwen/Qwen2.5-7B-Instruct"}),
        "planned 32B": spec(gpus(2, 8), agent={"model": "Qwen/Qwen2.5-32B-Instruct"}),
        "planned 72B": spec(gpus(4, 8), agent={"model": "Qwen/Qwen2.5-72B-Instruct"}),
        "planned mixture": spec(gpus(8, 8), agent={"model": "Qwen/Qwen3-235B-A22B"}),
        "unknown model": spec(gpus(1, 8), agent={"model": "acme/unheard-of"}),
        "storage 1": spec(gpus(1, 8, storage_units=1)),
        "storage 16": spec(gpus(2, 8, storage_units=16)),
        "everything": spec(gpus(2, 8), algorithm=together, rewards=judge),
        "everything apart": spec(gpus(2, 8, rollout=apart), algorithm=together, rewards=judge),
        "verl defaults": spec(gpus(1, 8), verl={"defaults": True}),
        "cpu": spec({"accelerator": "cpu"}),
        "cpu 2": spec({"accelerator": "cpu", "workers": 2}, algorithm="ppo"),
        "cpu 4": spec({"accelerator": "cpu", "workers": 4}),
    }


GRID: dict[str, Spec] = {
    **_colocated(),
    **_wide_replicas(),
    **_separate(),
    **_engines(),
    **_rewards(),
    **_teachers(),
    **_models(),
}
