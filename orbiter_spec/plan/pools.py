"""Pass: the Ray resource pools verl will build, and what Ray must have for them.

verl reserves three CPUs for every GPU bundle of a training pool and two for a standalone rollout replica, whatever is
placed there (`max_colocate_count` in single_controller/ray/base.py and workers/rollout/replica.py). One more CPU goes to
the TransferQueue controller, one to each of its storage units. Everything else holds no CPU.
"""

from __future__ import annotations

from dataclasses import replace

from orbiter_spec.plan.model import ActorGroup, Demand, Plan, Pool

TRAINING_CPUS = 3
STANDALONE_CPUS = 2


def size_pools(plan: Plan) -> Plan:
    """Write down pools and demand."""
    pools = (_global_pool(plan), *_rollout_pool(plan))
    groups = (
        ActorGroup("TransferQueue controller", 1, 1),
        ActorGroup("TransferQueue storage", int(plan.get("hardware.storage_units", 8)), 1),
    )
    return replace(plan, pools=pools, demand=_demand(pools, groups))


def _global_pool(plan: Plan) -> Pool:
    roles = ["actor"]
    if plan.get("hardware.rollout.placement") != "separate":
        roles.append("rollout")
    if plan.needs_reference:
        roles.append("reference")
    if plan.needs_critic:
        roles.append("critic")
    nodes, each = int(plan.get("hardware.nodes", 1)), int(plan.get("hardware.gpus_per_node", 8))
    return Pool("global_pool", (each,) * nodes, tuple(roles), TRAINING_CPUS)


def _rollout_pool(plan: Plan) -> tuple[Pool, ...]:
    if plan.get("hardware.rollout.placement") != "separate":
        return ()
    nodes, each = int(plan.get("hardware.rollout.nodes", 1)), int(plan.get("hardware.rollout.gpus_per_node", 8))
    return (Pool("rollout_pool", (each,) * nodes, ("rollout",), STANDALONE_CPUS),)


def _demand(pools: tuple[Pool, ...], groups: tuple[ActorGroup, ...]) -> Demand:
    pooled_cpus = sum(pool.processes * pool.cpus_per_process for pool in pools)
    return Demand(
        cpus=pooled_cpus + sum(group.actors * group.cpus_per_actor for group in groups),
        gpus=sum(pool.processes * pool.gpus_per_process for pool in pools),
        largest_bundle_cpus=max(max(pool.processes_per_node) * pool.cpus_per_process for pool in pools),
        largest_bundle_gpus=max(max(pool.processes_per_node) * pool.gpus_per_process for pool in pools),
        groups=groups,
    )
