"""`python -m orbiter_cluster.cluster.sees FILE`: which nodes of the cluster do not see a file.

Prints one JSON object: `nodes`, the number of living nodes, and `blind`, the addresses of those without the file. A
task of no CPUs runs on every node, so a busy cluster answers as well.
"""

from __future__ import annotations

import json
import os
import sys

TIMEOUT_SECONDS = 60.0


def look(path: str) -> dict[str, object]:
    """Ask every node. Raises what Ray raises."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ray.init(address="auto", log_to_driver=False, configure_logging=False, logging_level="ERROR")
    look_there = ray.remote(num_cpus=0, max_retries=0)(os.path.exists)
    nodes = [node for node in ray.nodes() if node["Alive"]]
    answers = [
        look_there.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)).remote(path)
        for node in nodes
    ]
    seen = ray.get(answers, timeout=TIMEOUT_SECONDS)
    blind = [node["NodeManagerAddress"] for node, sees in zip(nodes, seen, strict=True) if not sees]
    return {"nodes": len(nodes), "blind": blind}


if __name__ == "__main__":
    print("\n" + json.dumps(look(sys.argv[1])))
