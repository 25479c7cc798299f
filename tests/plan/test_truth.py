"""Truth of the plan: pools, world sizes, replicas and Ray's demand are what verl builds for the configuration."""

from __future__ import annotations

import pytest

from orbiter_spec.lower.lowering import lower
from orbiter_spec.plan.model import Plan, Pool
from tests.plan.truth_grid import GRID, plan_of
from tests.plan.verl_truth import Truth, ask_verl, compose

pytest.importorskip("verl")
pytest.importorskip("hydra")


def test_grid_is_wide_enough() -> None:
    assert len(GRID) >= 60


@pytest.mark.parametrize("name", GRID)
@pytest.mark.filterwarnings("ignore")
def test_plan_is_what_verl_builds(name: str) -> None:
    plan = plan_of(GRID[name])
    truth = ask_verl(compose(lower(plan)))
    pools = {pool.name: pool for pool in plan.pools}
    assert plan.demand is not None
    assert (plan.demand.gpus, plan.demand.cpus) == (truth.gpus, truth.cpus)
    assert {key: list(pool.processes_per_node) for key, pool in pools.items() if key != "rollout_pool"} == truth.pools
    assert plan.gpus == sum(truth.pools["global_pool"])
    assert plan.demand.largest_bundle_gpus == max(group.total("GPU") for group in truth.groups)
    assert plan.demand.largest_bundle_cpus == max(group.total("CPU") for group in truth.groups)
    check_replicas(pools, truth)
    check_roles(plan, truth)


def check_replicas(pools: dict[str, Pool], truth: Truth) -> None:
    homes = {"hybrid": "global_pool", "standalone": "rollout_pool", "reward": "reward_pool", "teacher": "teacher_pool"}
    for mode, home in homes.items():
        sizes = [size for found, size in truth.replicas if found == mode]
        pool = pools.get(home)
        if pool is None or (mode == "teacher" and not pool.replica_processes):
            continue
        assert pool.replicas == len(sizes), mode
        assert all(size in (0, pool.replica_processes) for size in sizes), mode
    standalone = [group for group in truth.groups if group.strategy == "PACK"]
    if "rollout_pool" in pools:
        pool = pools["rollout_pool"]
        assert len(standalone) == pool.count * len(pool.processes_per_node)


def check_roles(plan: Plan, truth: Truth) -> None:
    roles = plan.pools[0].roles
    assert ("critic" in roles) == ("critic" in truth.roles)
    assert ("reference" in roles) == bool({"actor_rollout_ref", "ref"} & truth.roles)
