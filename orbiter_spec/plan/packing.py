"""Do the pools fit the nodes? Ray packs each node's share of a pool strictly onto one machine.

TransferQueue deals its storage units out over all nodes in turn and insists on it; then come verl's placement groups,
and everything else goes wherever one CPU is left. Ray's own choice among fitting nodes is not foreseen: what is
reported here fits in no arrangement at all, so a refusal is never wrong. The search is exact for every cluster of a
sensible size and gives up, in favour of the plan, after `MAX_TRIALS` steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orbiter_spec.plan.model import ActorGroup, Pool

MAX_TRIALS = 20_000
STORAGE = "TransferQueue storage"
SPREAD_POOL = "rollout_pool"
"""The pool whose groups Ray packs as well as it can, and not strictly onto one node."""


@dataclass(frozen=True, slots=True)
class Room:
    """What a node has to give."""

    cpus: float
    gpus: float


@dataclass(frozen=True, slots=True)
class Piece:
    """What has to find room on one node."""

    name: str
    cpus: int
    gpus: int

    def fits(self, room: Room) -> bool:
        """True when `room` has enough of both."""
        return room.cpus >= self.cpus and room.gpus >= self.gpus


def unplaced(pools: Sequence[Pool], groups: Sequence[ActorGroup], nodes: Sequence[Room]) -> Piece | None:
    """What finds no room on `nodes`, or None when everything does."""
    left = list(nodes)
    for group in groups:
        piece = Piece(group.name, group.cpus_per_actor, 0)
        if group.name == STORAGE:
            for rank in range(group.actors):
                node = rank % len(left) if left else 0
                if not left or not piece.fits(left[node]):
                    return piece
                left[node] = _less(left[node], piece)
    strict = [piece for pool in pools if pool.name != SPREAD_POOL for piece in _pieces(pool)]
    strict.sort(key=lambda piece: (-piece.gpus, -piece.cpus))
    spread = [pool for pool in pools if pool.name == SPREAD_POOL]
    trials = [MAX_TRIALS]
    if not _placeable(strict, left, spread, trials):
        return _first_left_over(
            [*strict, *(Piece(p.name, p.cpus_per_process, p.gpus_per_process) for p in spread)], left
        )
    free = sum(room.cpus for room in left) - sum(pool.processes * pool.cpus_per_process for pool in pools)
    for group in groups:
        if group.name != STORAGE:
            free -= group.actors * group.cpus_per_actor
            if free < 0:
                return Piece(group.name, group.cpus_per_actor, 0)
    return None


def _pieces(pool: Pool) -> list[Piece]:
    """One for each node's share of each equal pool."""
    shares = pool.processes_per_node * pool.count
    return [Piece(pool.name, share * pool.cpus_per_process, share * pool.gpus_per_process) for share in shares]


def _placeable(pieces: Sequence[Piece], rooms: list[Room], spread: Sequence[Pool], trials: list[int]) -> bool:
    """Try every distinct room for the first piece, tightest first, then the rest; `spread` takes what is left."""
    if not pieces:
        return all(pool.processes <= sum(_processes(pool, room) for room in rooms) for pool in spread)
    trials[0] -= 1
    if trials[0] < 0:
        return True
    piece = pieces[0]
    for room in sorted({room for room in rooms if piece.fits(room)}, key=lambda room: (room.gpus, room.cpus)):
        index = rooms.index(room)
        if _placeable(pieces[1:], [*rooms[:index], _less(room, piece), *rooms[index + 1 :]], spread, trials):
            return True
    return False


def _processes(pool: Pool, room: Room) -> int:
    """Processes of `pool` that fit into `room`."""
    return int(min(room.cpus // pool.cpus_per_process, room.gpus // pool.gpus_per_process))


def _first_left_over(pieces: Sequence[Piece], rooms: list[Room]) -> Piece:
    for piece in pieces:
        fitting = [room for room in rooms if piece.fits(room)]
        if not fitting:
            return piece
        tightest = min(fitting, key=lambda room: (room.gpus, room.cpus))
        rooms[rooms.index(tightest)] = _less(tightest, piece)
    return pieces[-1]


def _less(room: Room, piece: Piece) -> Room:
    return Room(room.cpus - piece.cpus, room.gpus - piece.gpus)
