"""`python -m orbiter_cluster.cluster.gather COUNT [SECONDS]`: wait until COUNT nodes are in the Ray of RAY_ADDRESS."""

from __future__ import annotations

import sys
import time

WAIT_SECONDS = 600.0


def gather(count: int, seconds: float = WAIT_SECONDS) -> int:
    """Living nodes, once there are `count` of them or the time is over."""
    import ray

    ray.init(address="auto", log_to_driver=False, logging_level="ERROR")
    end = time.monotonic() + seconds
    while (alive := len([node for node in ray.nodes() if node["Alive"]])) < count and time.monotonic() < end:
        time.sleep(1)
    return int(alive)


if __name__ == "__main__":
    wanted = int(sys.argv[1])
    found = gather(wanted, *(float(text) for text in sys.argv[2:3]))
    if found < wanted:
        sys.exit(f"orbiter-spec: {found} of {wanted} nodes joined Ray in time")
