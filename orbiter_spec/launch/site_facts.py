"""What is known of the machines a run is meant for: a value, read from what `runtime/site_probe.py` prints.

Rules ask it through a protocol of their own (`rules/sites.py`), so that they can be tested without machines. Addresses
are Ray's node addresses; sizes are bytes. Nodes stand in the order of their Ray ids, which is the order in which
TransferQueue deals its storage units out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DEVICES = ("GPU", "NPU")
ACCELERATOR = "accelerator_type:"


@dataclass(frozen=True, slots=True)
class Questions:
    """What is to be found out on each node.

    `packages` are distribution names, `modules` importable ones; `paths` maps a name of the asker's choice to a file or
    folder to read; `folders` are to be written to; `shared` are those of them that every node has to see; `models` are
    repositories of the hub; `ports` have to be free.
    """

    packages: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    paths: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """One machine. Without an answer only its address and Ray's numbers are known; `packages` map to None if absent."""

    address: str
    cpus: float = 0
    gpus: float = 0
    free_cpus: float = 0
    free_gpus: float = 0
    answered: bool = True
    python: str = ""
    accelerators: tuple[str, ...] = ()
    memory_bytes: int | None = None
    packages: Mapping[str, str | None] = field(default_factory=dict)
    free_bytes: Mapping[str, int | None] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    unwritable: Mapping[str, str] = field(default_factory=dict)
    missing_modules: tuple[str, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)
    ports_taken: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Site:
    """Where a run goes. `problem` says why nothing could be asked; `address` is None for this machine.

    `unconnected` are pairs (from, to) of node addresses; `not_shared` maps a folder to the nodes that do not see it;
    `other_run` is true while another run of verl lives on the cluster.
    """

    address: str | None = None
    problem: str | None = None
    nodes: tuple[Node, ...] = ()
    unconnected: tuple[tuple[str, str], ...] = ()
    not_shared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    other_run: bool = False

    @property
    def is_cluster(self) -> bool:
        """False for this machine alone."""
        return self.address is not None


def read_site(told: Mapping[str, Any], address: str | None) -> Site:
    """The site behind the probe's answer."""
    return Site(
        address,
        None,
        tuple(_node(node) for node in told["nodes"]),
        tuple((start, end) for start, end in told.get("unconnected", ())),
        {folder: tuple(blind) for folder, blind in told.get("not_shared", {}).items()},
        bool(told.get("other_run")),
    )


def _node(told: Mapping[str, Any]) -> Node:
    facts, total, free = told["facts"], told.get("total", {}), told.get("free", {})
    ray = {
        "cpus": total.get("CPU", 0),
        "gpus": _devices(total),
        "free_cpus": free.get("CPU", 0),
        "free_gpus": _devices(free),
    }
    names = [name.removeprefix(ACCELERATOR) for name in total if name.startswith(ACCELERATOR)]
    if facts is None:
        return Node(told["address"], **ray, answered=False, accelerators=tuple(names))
    return Node(
        told.get("address", facts["host"]),
        **ray,
        python=facts["python"],
        accelerators=tuple(dict.fromkeys([*names, *facts["gpus"]])),
        memory_bytes=facts["memory_bytes"],
        packages=facts["packages"],
        free_bytes=facts["free_bytes"],
        unreadable=facts["unreadable"],
        unwritable=facts["unwritable"],
        missing_modules=tuple(facts["missing_modules"]),
        models=facts["models"],
        ports_taken=tuple(facts["ports_taken"]),
    )


def _devices(resources: Mapping[str, Any]) -> float:
    """Accelerators as verl counts them: GPUs, or NPUs where Ray knows no GPU."""
    return float(next((resources[name] for name in DEVICES if name in resources), 0))
