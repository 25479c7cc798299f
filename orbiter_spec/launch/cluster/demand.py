"""What a compiled run asks of Ray, from `resource_pools.yaml`, and whether nodes have it.

The whole spec is checked against the cluster before a run folder is made (`preflight.py`). This is the look before each
submission, at what is free now; a resumed run has only its folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orbiter_spec.launch.cluster.nodes import Node
from orbiter_spec.plan.model import ActorGroup, Pool
from orbiter_spec.plan.packing import Piece, Room, unplaced


@dataclass(frozen=True, slots=True)
class Asked:
    """Pools and single actors of a run."""

    pools: tuple[Pool, ...]
    groups: tuple[ActorGroup, ...]

    def missing(self, nodes: Sequence[Node]) -> Piece | None:
        """What finds no room on what is free of `nodes`."""
        return unplaced(self.pools, self.groups, [Room(node.free_cpus, node.free_gpus) for node in nodes])


def read_asked(compiled: Path) -> Asked:
    """What the run in `compiled` asks for.

    Raises:
        OSError, ValueError: when `resource_pools.yaml` is not there or not what compile writes.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        values = YAML(typ="safe").load((compiled / "resource_pools.yaml").read_text(encoding="utf-8"))
        pools = tuple(
            Pool(
                str(name),
                tuple(pool["processes_per_node"]),
                tuple(pool["roles"]),
                pool["cpus_per_process"],
                pool["gpus_per_process"],
                count=int(pool.get("count", 1)),
            )
            for name, pool in values["pools"].items()
        )
        groups = tuple(
            ActorGroup(str(name), int(group["actors"]), group["cpus_per_actor"])
            for name, group in (values.get("actor_groups") or {}).items()
        )
    except (YAMLError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{compiled / 'resource_pools.yaml'} is not what compile writes: {error}") from error
    return Asked(pools, groups)


def lacks(node: Node, piece: Piece) -> str:
    """What `node` has less of than `piece` asks for."""
    pairs = (("CPUs", node.free_cpus, piece.cpus), ("GPUs", node.free_gpus, piece.gpus))
    short = [f"{free:g} of {asked:g} {word}" for word, free, asked in pairs if free < asked]
    return f"{node.name} has {' and '.join(short)}" if short else f"{node.name} is full with the rest"
