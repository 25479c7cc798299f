"""Ask a real Ray for verl's placement groups, and say which came into being: `python -m tests.launch.packing_on_ray`.

Reads cases from standard input as JSON, `[[nodes, pools, wait_seconds], ...]`, with three nodes as [CPUs, GPUs] and
pools as processes on each of their nodes; prints a list of booleans. There is one cluster of three large nodes; each
case gets its shape by what else is held on them, so Ray decides by what is free, as on a cluster in use. A process of
its own, because Ray keeps what it was once told.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

LARGE_CPUS, LARGE_GPUS = 64, 16
TRAINING_CPUS = 3
HELD_SECONDS = 120.0


def main() -> None:
    """All cases, one after the other."""
    import ray
    from ray.cluster_utils import Cluster

    cases = json.load(sys.stdin)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "num_gpus": 0, "include_dashboard": False})
    try:
        for number in range(3):
            large = {"num_cpus": LARGE_CPUS, "num_gpus": LARGE_GPUS, "object_store_memory": 80 << 20}
            cluster.add_node(**large, resources={f"node-{number}": 1})
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        cluster.wait_for_nodes()
        print(json.dumps([placed(nodes, pools, seconds) for nodes, pools, seconds in cases]))
    finally:
        ray.shutdown()
        cluster.shutdown()


def placed(nodes: list[list[int]], pools: list[list[int]], seconds: float) -> bool:
    """Whether every group of verl's came into being within `seconds`."""
    import ray

    held = [hold(number, cpus, gpus) for number, (cpus, gpus) in enumerate(nodes)]
    groups: list[Any] = []
    try:
        ready([group for group in held if group is not None], HELD_SECONDS, must=True)
        end = time.monotonic() + seconds
        for pool in pools:
            made = [
                ray.util.placement_group([{"CPU": TRAINING_CPUS, "GPU": 1}] * count, "STRICT_PACK") for count in pool
            ]
            groups += made
            if not ready(made, max(0.1, end - time.monotonic())):
                return False
        return True
    finally:
        for group in [*groups, *held]:
            if group is not None:
                ray.util.remove_placement_group(group)
        until_free()


def hold(number: int, cpus: int, gpus: int) -> Any:
    """Leave `cpus` and `gpus` of node `number`."""
    import ray

    wanted = {"CPU": LARGE_CPUS - cpus, "GPU": LARGE_GPUS - gpus, f"node-{number}": 0.001}
    return ray.util.placement_group(
        [{name: amount for name, amount in wanted.items() if amount}], strategy="STRICT_PACK"
    )


def ready(groups: list[Any], seconds: float, must: bool = False) -> bool:
    """Whether all `groups` are placed in time."""
    end = time.monotonic() + seconds
    done = all(group.wait(max(0.1, end - time.monotonic())) for group in groups)
    if must and not done:
        raise TimeoutError("what makes a node small could not be placed")
    return done


def until_free() -> None:
    """Wait until Ray counts everything as free again."""
    import ray

    end = time.monotonic() + HELD_SECONDS
    while ray.available_resources().get("CPU", 0) < 3 * LARGE_CPUS and time.monotonic() < end:
        time.sleep(0.05)


if __name__ == "__main__":
    main()
