"""The demand of the plan, asked of a real Ray: what it offers exactly is taken exactly, and one CPU less is too little.

Ray runs on this machine with logical CPUs and GPUs and nothing else in it. The placement groups are created by verl's
own resource pools, the storage actors by TransferQueue itself; only the workers that would sit in the groups are left
out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from orbiter_spec.lower.lowering import lower
from orbiter_spec.plan.model import Plan
from tests.plan.truth_grid import gpus, plan_of, spec
from tests.plan.verl_truth import compose

pytest.importorskip("verl")
ray = pytest.importorskip("ray")

SECONDS_TO_PLACE = 60
JUDGE = {"parts": ["rewards.py:score"], "model": {"path": "org/judge", "nodes": 1, "gpus_per_node": 2}}
APART = {"placement": "separate", "nodes": 1, "gpus_per_node": 3, "tensor_parallel": 2}
TEACHER = {"name": "grpo", "distillation": {"teachers": ["org/teacher"], "gpus_per_node": 2}}
STARTED: dict[str, dict[str, Any]] = {
    "cpu, two workers": spec({"accelerator": "cpu", "workers": 2}),
    "one node": spec(gpus(1, 4, storage_units=2)),
    "two nodes": spec(gpus(2, 2, storage_units=2)),
    "pooled judge": spec(gpus(1, 2, storage_units=1), rewards=JUDGE),
    "teacher": spec(gpus(1, 2, storage_units=1), algorithm=TEACHER),
    "separate rollout": spec(gpus(1, 2, storage_units=1, rollout=APART)),
    "everything": spec(gpus(1, 2, storage_units=3, rollout=APART), algorithm=TEACHER, rewards=JUDGE),
}


@pytest.fixture
def clean_ray() -> Iterator[None]:
    """A private Ray for one test; nothing else's cluster is joined or stopped."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    yield
    ray.shutdown()


@pytest.mark.training
@pytest.mark.timeout(180)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STARTED)
def test_ray_gives_exactly_what_the_plan_says(name: str, clean_ray: None) -> None:
    import transfer_queue

    plan = plan_of(STARTED[name])
    assert plan.demand is not None
    start(plan.demand.cpus, plan.demand.gpus)
    config = compose(lower(plan))
    transfer_queue.init(config.transfer_queue)
    try:
        held = [group for pool in resource_pools(plan, config) for group in pool.get_placement_groups()]
        assert len(held) == sum(pool.count * len(pool.processes_per_node) for pool in plan.pools)
        assert left() == (0, 0)
        assert largest(held) == (plan.demand.largest_bundle_cpus, plan.demand.largest_bundle_gpus)
    finally:
        transfer_queue.close()


@pytest.mark.training
@pytest.mark.timeout(120)
@pytest.mark.filterwarnings("ignore")
def test_one_cpu_less_is_too_little(clean_ray: None) -> None:
    plan = plan_of(STARTED["one node"])
    assert plan.demand is not None
    pooled = plan.pools[0].processes * plan.pools[0].cpus_per_process
    start(pooled - 1, plan.demand.gpus)
    bundle = {"CPU": plan.pools[0].cpus_per_process, "GPU": 1}
    group = ray.util.placement_group([bundle] * plan.pools[0].processes, strategy="STRICT_PACK")
    assert not group.wait(timeout_seconds=5)


def start(cpus: int, gpu_count: int) -> None:
    ray.init(
        address="local",
        num_cpus=cpus,
        num_gpus=gpu_count,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=100 * 1024**2,
    )


def resource_pools(plan: Plan, config: Any) -> list[Any]:
    """verl's resource pools: those of its trainer, and one for each standalone replica."""
    from verl.single_controller.ray.base import RayResourcePool, ResourcePoolManager
    from verl.trainer.ppo.v1 import get_trainer_cls

    trainer = object.__new__(get_trainer_cls(config.trainer.v1.trainer_mode))
    trainer.config = config
    trainer._init_resource_pool_mgr()
    manager: ResourcePoolManager = trainer.resource_pool_manager
    manager.create_resource_pool()
    pools: list[RayResourcePool] = list(manager.resource_pool_dict.values())
    for pool in plan.pools:
        if pool.name != "rollout_pool":
            continue
        for replica in range(pool.count):
            own = ResourcePoolManager({f"replica_{replica}": list(pool.processes_per_node)}, {}, max_colocate_count=2)
            own.create_resource_pool()
            pools.append(own.resource_pool_dict[f"replica_{replica}"])
    return pools


def left() -> tuple[int, int]:
    """CPUs and GPUs that Ray still has, once its accounts have settled."""
    deadline = time.monotonic() + SECONDS_TO_PLACE
    found = (-1, -1)
    while time.monotonic() < deadline and found != (0, 0):
        free = ray.available_resources()
        found = (int(free.get("CPU", 0)), int(free.get("GPU", 0)))
        time.sleep(0.2)
    return found


def largest(groups: list[Any]) -> tuple[int, int]:
    """CPUs and GPUs of the group that asks for most."""
    totals = [
        [sum(bundle.get(name, 0) for bundle in group.bundle_specs) for name in ("CPU", "GPU")] for group in groups
    ]
    return int(max(cpus for cpus, _ in totals)), int(max(count for _, count in totals))
