"""Pass: the Ray resource pools verl will build, and what Ray must have for them.

verl reserves three CPUs for every GPU bundle of a training pool and two for a standalone rollout replica, whatever is
placed there (`max_colocate_count` in single_controller/ray/base.py and workers/rollout/replica.py). One more CPU goes
to the TransferQueue controller, one to each of its storage units; the older trainer does without them. Everything else
holds no CPU, but for the reward manager `remote`: each of its workers starts as many scoring actors as there are
workers.

Replicas on the training GPUs exist in every mode, for verl serves from them between updates even when other nodes only
generate. A standalone replica has a pool of its own, so GPUs left over by the division are not asked of Ray at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from orbiter_spec.plan.model import ActorGroup, Demand, Plan, Pool

TRAINING_CPUS = 3
STANDALONE_CPUS = 2
REWARD_WORKERS = 8
STORAGE_UNITS = 8
SERVING_NODE = 8
SERVING_TENSOR = 2


def size_pools(plan: Plan) -> Plan:
    """Write down pools and demand."""
    pools = (_global_pool(plan), *_reward_pool(plan), *_teacher_pool(plan), *_rollout_pool(plan))
    return replace(plan, pools=pools, demand=_demand(pools, tuple(_groups(plan))))


def replica_processes(plan: Plan) -> int:
    """GPUs of one rollout replica; prefill and decode replicas form one together."""
    tensor, data, pipeline = (_number(plan, f"hardware.rollout.{size}_parallel", 1) for size in PARALLEL)
    split = "hardware.rollout.disaggregation"
    if plan.get(split) is None or plan.get(f"{split}.enabled") is False:
        return tensor * data * pipeline
    prefill, decode = (_number(plan, f"{split}.{stage}_replicas", 1) for stage in ("prefill", "decode"))
    decoder = _number(plan, f"{split}.decode_tensor_parallel", tensor)
    return (tensor * prefill + decoder * decode) * data * pipeline


PARALLEL = ("tensor", "data", "pipeline")


def _number(plan: Plan, route: str, default: int) -> int:
    value = plan.get(route)
    return default if value is None else int(value)


def _global_pool(plan: Plan) -> Pool:
    nodes, each = _number(plan, "hardware.nodes", 1), _number(plan, "hardware.gpus_per_node", 8)
    return Pool(
        "global_pool",
        (each,) * nodes,
        tuple(_roles(plan)),
        TRAINING_CPUS,
        replica_processes=replica_processes(plan),
        gpus_per_node=each,
    )


def _roles(plan: Plan) -> Iterator[str]:
    """Who lives on the training GPUs. With adapters the reference is the actor without them, no model of its own."""
    yield "actor"
    yield "rollout"
    if plan.needs_reference and not plan.get("agent.model.lora.rank") and plan.get("agent.model.lora.adapter") is None:
        yield "reference"
    if plan.needs_critic:
        yield "critic"
    if plan.get("rewards.model") is not None and plan.get("rewards.model.nodes") is None:
        yield "reward model"


def _reward_pool(plan: Plan) -> tuple[Pool, ...]:
    if plan.get("rewards.model.nodes") is None:
        return ()
    nodes, each = _number(plan, "rewards.model.nodes", 1), _number(plan, "rewards.model.gpus_per_node", SERVING_NODE)
    tensor = _number(plan, "rewards.model.tensor_parallel", SERVING_TENSOR)
    replica = tensor * _number(plan, "rewards.model.data_parallel", 1)
    return (_serving("reward_pool", nodes, each, "reward model", replica),)


def _teacher_pool(plan: Plan) -> tuple[Pool, ...]:
    teachers = plan.get("algorithm.distillation.teachers")
    if not teachers:
        return ()
    nodes = _number(plan, "algorithm.distillation.nodes", 1)
    each = _number(plan, "algorithm.distillation.gpus_per_node", SERVING_NODE)
    sizes = {(teacher.tensor_parallel or SERVING_TENSOR) * (teacher.data_parallel or 1) for teacher in teachers}
    return (_serving("teacher_pool", nodes, each, "teacher", sizes.pop() if len(sizes) == 1 else 0),)


def _serving(name: str, nodes: int, each: int, role: str, replica: int) -> Pool:
    return Pool(name, (each,) * nodes, (role,), TRAINING_CPUS, replica_processes=replica, gpus_per_node=each)


def _rollout_pool(plan: Plan) -> tuple[Pool, ...]:
    if plan.get("hardware.rollout.placement") != "separate":
        return ()
    nodes, each = _number(plan, "hardware.rollout.nodes", 1), _number(plan, "hardware.rollout.gpus_per_node", 8)
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
    storage = _number(plan, "hardware.storage_units", STORAGE_UNITS)
    queue = [ActorGroup("TransferQueue controller", 1, 1), ActorGroup("TransferQueue storage", storage, 1)]
    groups = [] if plan.is_legacy else queue
    if plan.get("rewards.manager") == "remote":
        workers = _number(plan, "rewards.workers", REWARD_WORKERS)
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
