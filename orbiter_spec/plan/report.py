"""The plan as plain data, for plan.json and for the screen that is drawn from it.

Keys are stable, bytes and counts are integers, and units stand in the names. Nothing here decides; what a reader could
work out from two fields is left to the reader, so that no two numbers can disagree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from orbiter_spec.plan.hatch import OLDER_KEYS
from orbiter_spec.plan.model import Decision, Demand, Memory, Phase, Plan, Pool

FORMAT = 1


def plan_json(plan: Plan) -> dict[str, Any]:
    """`plan` as JSON data: strings, numbers, booleans, None, lists and dictionaries only."""
    return {
        "format": FORMAT,
        "name": plan.experiment.name,
        "algorithm": plan.experiment.algorithm.name,
        "rows": asdict(plan.rows),
        "hardware": _hardware(plan),
        "model": _model(plan),
        "batches": asdict(plan.batches) if plan.batches else None,
        "schedule": _schedule(plan),
        "pools": [_pool(pool) for pool in plan.pools],
        "demand": _demand(plan.demand, plan.pools) if plan.demand else None,
        "memory": _memory(plan.memory) if plan.memory else None,
        "not_seen": sorted(set(plan.get("verl.overrides") or ()) - set(OLDER_KEYS)),
        "decisions": [_decision(decision) for decision in plan.decided.values()],
    }


def _hardware(plan: Plan) -> dict[str, Any]:
    return {
        "accelerator": plan.get("hardware.accelerator"),
        "nodes": plan.get("hardware.nodes"),
        "gpus_per_node": plan.get("hardware.gpus_per_node"),
        "train_engine": plan.get("hardware.train.engine"),
        "rollout_engine": plan.get("hardware.rollout.engine"),
        "mode": _mode(plan),
        "train_parallel": {
            name: int(plan.get(f"hardware.train.{name}_parallel", 1))
            for name in ("tensor", "pipeline", "context", "expert", "sequence")
        },
        "rollout_parallel": {
            name: int(plan.get(f"hardware.rollout.{name}_parallel", 1))
            for name in ("tensor", "data", "pipeline", "expert")
        },
    }


def _mode(plan: Plan) -> str:
    if plan.get("hardware.rollout.placement") == "separate":
        return "separate"
    return "colocated, asynchronous" if plan.get("hardware.rollout.asynchronous") else "colocated"


def _model(plan: Plan) -> dict[str, Any]:
    facts = asdict(plan.model) if plan.model else None
    if facts is not None:
        del facts["weights"]
    return {"path": plan.get("agent.model.path"), "facts": facts}


def _schedule(plan: Plan) -> dict[str, Any]:
    return {
        "checkpoint_every_steps": plan.get("run.checkpoint.every"),
        "checkpoints_kept": plan.get("run.checkpoint.keep"),
        "evaluate_every_steps": plan.get("run.evaluate.every"),
        "evaluate_before_training": plan.get("run.evaluate.before_training"),
    }


def _pool(pool: Pool) -> dict[str, Any]:
    return {
        "name": pool.name,
        "count": pool.count,
        "processes_per_node": list(pool.processes_per_node),
        "gpus_per_node": pool.gpus_per_node,
        "roles": list(pool.roles),
        "processes": pool.processes,
        "cpus_per_process": pool.cpus_per_process,
        "gpus_per_process": pool.gpus_per_process,
        "replicas": pool.replicas,
        "replica_processes": pool.replica_processes,
    }


def _demand(demand: Demand, pools: tuple[Pool, ...]) -> dict[str, Any]:
    pooled = [
        {
            "name": pool.name,
            "actors": pool.processes,
            "cpus_per_actor": pool.cpus_per_process,
            "gpus_per_actor": pool.gpus_per_process,
        }
        for pool in pools
    ]
    others = [{**asdict(group), "gpus_per_actor": 0} for group in demand.groups]
    return {
        "cpus": demand.cpus,
        "gpus": demand.gpus,
        "largest_bundle": {"cpus": demand.largest_bundle_cpus, "gpus": demand.largest_bundle_gpus},
        "groups": [*pooled, *others],
    }


def _memory(memory: Memory) -> dict[str, Any]:
    return {
        "verdict": memory.verdict,
        "reason": memory.reason,
        "gpu_bytes": memory.gpu_bytes,
        "phases": [_phase(phase) for phase in memory.phases],
        "host_bytes_per_node": {"low": memory.host_bytes_low, "high": memory.host_bytes_high},
        "checkpoint_bytes": memory.checkpoint_bytes,
        "checkpoints_kept": memory.checkpoints_kept,
        "cache_tokens_per_replica": memory.cache_tokens,
        "assumptions": list(memory.assumptions),
    }


def _phase(phase: Phase) -> dict[str, Any]:
    return {
        "name": phase.name,
        "pool": phase.pool,
        "bytes_per_gpu": {"low": phase.low, "expected": phase.expected, "high": phase.high},
        "uses": [asdict(use) for use in phase.uses],
    }


def _decision(decision: Decision) -> dict[str, Any]:
    value = dict(decision.value) if isinstance(decision.value, Mapping) else decision.value
    return {"field": decision.route, "value": value, "by": decision.by, "why": decision.why}
