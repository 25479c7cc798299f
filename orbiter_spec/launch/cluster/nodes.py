"""The nodes of a cluster: what each offers and what of it is free, as Ray counts it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from orbiter_spec.launch.job_server import JobServer


@dataclass(frozen=True, slots=True)
class Node:
    """A living node; CPUs and GPUs are Ray's logical ones. `free_*` equal the totals where Ray does not say."""

    name: str
    cpus: float
    gpus: float
    free_cpus: float
    free_gpus: float
    is_head: bool = False

    def __str__(self) -> str:
        return f"{self.name} ({self.cpus:g} CPUs, {self.gpus:g} GPUs)"


def read_nodes(server: JobServer) -> tuple[Node, ...]:
    """Every living node, by address. Raises ClusterError."""
    rows = server.get("/api/v0/nodes?detail=1&limit=10000")["data"]["result"]["result"]
    status = (server.get("/api/cluster_status").get("data") or {}).get("clusterStatus") or {}
    usage = (status.get("loadMetricsReport") or {}).get("usageByNode") or {}
    nodes = [_node(row, usage.get(row["node_id"]) or {}) for row in rows if row["state"] == "ALIVE"]
    return tuple(sorted(nodes, key=lambda node: (not node.is_head, node.name)))


def _node(row: Mapping[str, Any], usage: Mapping[str, Any]) -> Node:
    totals = row.get("resources_total") or {}
    cpus, gpus = float(totals.get("CPU", 0)), float(totals.get("GPU", 0))
    used_cpus, used_gpus = (float((usage.get(name) or [0.0])[0]) for name in ("CPU", "GPU"))
    free = (cpus - used_cpus, gpus - used_gpus)
    return Node(str(row["node_ip"]), cpus, gpus, *free, is_head=bool(row.get("is_head_node")))


def emptied(nodes: Iterable[Node]) -> list[Node]:
    """The same nodes with nothing in use."""
    return [replace(node, free_cpus=node.cpus, free_gpus=node.gpus) for node in nodes]
