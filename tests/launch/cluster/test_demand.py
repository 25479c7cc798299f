"""Has the cluster room for the run: nodes are named, and a busy cluster is told from a small one."""

from __future__ import annotations

from pathlib import Path

import pytest

from orbiter_spec.launch.cluster.demand import Asked, read_asked
from orbiter_spec.launch.cluster.nodes import Node, emptied
from orbiter_spec.launch.cluster.submit import check_nodes
from orbiter_spec.plan.model import ActorGroup, Pool

TWO_NODES = Asked((Pool("global_pool", (8, 8), ("actor",), 3),), (ActorGroup("TransferQueue storage", 2, 1),))
POOLS = """\
pools:
  global_pool: {processes_per_node: [8, 8], roles: [actor], gpus_per_process: 1, cpus_per_process: 3}
  rollout_pool: {processes_per_node: [2], roles: [rollout], gpus_per_process: 1, cpus_per_process: 2, count: 4}
actor_groups:
  "TransferQueue storage": {actors: 2, cpus_per_actor: 1}
"""


def node(name: str, cpus: float, gpus: float, used: tuple[float, float] = (0, 0)) -> Node:
    return Node(name, cpus, gpus, cpus - used[0], gpus - used[1])


def test_a_node_that_is_too_small_is_named_with_what_it_lacks() -> None:
    [found] = check_nodes([node("10.0.0.1", 6, 1), node("10.0.0.2", 64, 4), node("10.0.0.3", 64, 8)], TWO_NODES)
    assert found.id == "ORB530"
    assert "10.0.0.1 has 6 of 24 CPUs and 1 of 8 GPUs; 10.0.0.2 has 4 of 8 GPUs" in found.message


def test_a_busy_cluster_is_told_from_a_small_one() -> None:
    busy = [node("10.0.0.1", 64, 8, used=(12, 4)), node("10.0.0.2", 64, 8)]
    [found] = check_nodes(busy, TWO_NODES)
    assert found.id == "ORB531"
    assert "10.0.0.1 has 4 of 8 GPUs" in found.message
    assert check_nodes(emptied(busy), TWO_NODES) == []


def test_what_is_asked_is_read_from_the_compiled_folder(tmp_path: Path) -> None:
    (tmp_path / "resource_pools.yaml").write_text(POOLS, encoding="utf-8")
    asked = read_asked(tmp_path)
    assert [(pool.name, pool.processes) for pool in asked.pools] == [("global_pool", 16), ("rollout_pool", 8)]
    assert asked.groups == TWO_NODES.groups
    (tmp_path / "resource_pools.yaml").write_text("pools: 3\n", encoding="utf-8")
    with pytest.raises(ValueError, match="is not what compile writes"):
        read_asked(tmp_path)
