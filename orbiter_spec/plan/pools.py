"""Pass: the Ray resource pools verl will build, and what Ray must have for them.

verl reserves three CPUs for every GPU bundle of a training pool and two for a standalone rollout replica, whatever is
placed there (`max_colocate_count` in single_controller/ray/base.py and workers/rollout/replica.py). One more CPU goes to
the TransferQueue controller, one to each of its storage units. Everything else holds no CPU, but for the reward manager
`remote`: each of its workers starts as many scoring actors as there are workers.

Replicas on the training GPUs exist in every mode, for verl serves from them between updates even when other nodes only
generate. A standalone replica has a pool of its own, so GPUs left over by the division are not asked of Ray at all.
"""

from __future__ import annotations

from dataclasses import replace

from orbiter_spec.plan.model import ActorGroup, Demand, Plan, Pool

TRAINING_CPUS = 3
STANDALONE_CPUS = 2
REWARD_WORKERS = 8
STORAGE_UNITS = 8


def size_pools(plan: Plan) -> Plan:
    """Write down pools and demand."""
    pools = (_global_pool(plan), *_rollout_pool(plan))
    return replace(plan, pools=pools, demand=_demand(pools, tuple(_groups(plan))))


def replica_processes(plan: Plan) -> int:
    """GPUs of one rollout replica."""
    sizes = ("tensor_parallel", "data_parallel", "pipeline_parallel")
    processes = 1
    for size in sizes:
        processes *= int(plan.get(f"hardware.rollout.{size}", 1))
    return processes


def _global_pool(plan: Plan) -> Pool:
    roles = ["actor", "rollout"]
    if plan.needs_reference:
        roles.append("reference")
    if plan.needs_critic:
        roles.append("critic")
    nodes, each = int(plan.get("hardware.nodes", 1)), int(plan.get("hardware.gpus_per_node", 8))
    return Pool(
        "global_pool",
        (each,) * nodes,
        tuple(roles),
        TRAINING_CPUS,
        replica_processes=replica_processes(plan),
        gpus_per_node=each,
    )


def _rollout_pool(plan: Plan) -> tuple[Pool, ...]:
    if plan.get("hardware.rollout.placement") != "separate":
        return ()
    nodes, each = int(plan.get("hardware.rollout.nodes", 1)), int(plan.get("hardware.rollout.gpus_per_node", 8))
    replica = replica_processes(plan)
    on_a_node = min(each, replica)
    return (
        Pool(
            "rollout_pool",
            (on_a_node,) * (replica // on_a_node),
            ("rollout",),
            STANDALONE_CPUS,
            count=nodes * each // replica,
            replica_processes=replica,
            gpus_per_node=each,
        ),
    )


def _groups(plan: Plan) -> list[ActorGroup]:
    groups = [
        ActorGroup("TransferQueue controller", 1, 1),
        ActorGroup("TransferQueue storage", int(plan.get("hardware.storage_units", STORAGE_UNITS)), 1),
    ]
    if plan.get("rewards.manager") == "remote":
        workers = int(plan.get("rewards.workers", REWARD_WORKERS))
        groups.append(ActorGroup("reward scoring", workers * workers, 1))
    return groups


def _demand(pools: tuple[Pool, ...], groups: tuple[ActorGroup, ...]) -> Demand:
    pooled_cpus = sum(pool.processes * pool.cpus_per_process for pool in pools)
    used = [pool for pool in pools if pool.processes]
    return Demand(
        cpus=pooled_cpus + sum(group.actors * group.cpus_per_actor for group in groups),
        gpus=sum(pool.processes * pool.gpus_per_process for pool in pools),
        largest_bundle_cpus=max(max(pool.processes_per_node) * pool.cpus_per_process for pool in used),
        largest_bundle_gpus=max(max(pool.processes_per_node) * pool.gpus_per_process for pool in used),
        groups=groups,
    )
