"""Which checkpoint a run can go on from.

verl writes `global_step_N/` piece by piece, and only then the number N into `latest_checkpointed_iteration.txt`; with
`async_save` it does not write the number at all. A step counts as whole when nothing is missing: for every role, the
shard of each worker of the world size that the files' names carry, and the state of the data loader, which is written
last. A file cut short by a kill is found by its end: `torch.save` writes a zip archive, whose directory comes last.
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

TRACKER = "latest_checkpointed_iteration.txt"
_STEP = re.compile(r"^global_step_(\d+)$")
_SHARD = re.compile(r"^(?P<kind>.+)_world_size_(?P<world>\d+)_rank_(?P<rank>\d+)\.pt$")
ROLES = ("actor", "critic")


@dataclass(frozen=True, slots=True, order=True)
class Checkpoint:
    """A whole checkpoint: after `step` steps, in `path`."""

    step: int
    path: Path


def latest_checkpoint(folder: Path) -> Checkpoint | None:
    """The whole checkpoint with the most steps in `folder`, or None."""
    return next((found for found in _steps(folder) if is_whole(found.path)), None)


def checkpoint_at(folder: Path, step: int) -> Checkpoint | None:
    """The checkpoint after `step` steps in `folder`, whole or not; None where there is none."""
    return next((found for found in _steps(folder) if found.step == step), None)


class CheckpointError(ValueError):
    """A checkpoint that was named cannot be gone on from; the message says why."""


def named_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint in `path`, which somebody chose.

    Raises:
        CheckpointError: when verl did not write it, or a kill cut it short.
    """
    match = _STEP.match(path.name)
    if match is None:
        raise CheckpointError(f"{path} is no checkpoint: verl's are called global_step_N")
    found = Checkpoint(int(match[1]), path)
    if not path.is_dir():
        raise CheckpointError(f"the checkpoint {path} is not there")
    if world_size(found) is not None and not is_whole(path):
        raise CheckpointError(f"the checkpoint {path} is not whole; take the one before it")
    return found


def world_size(checkpoint: Checkpoint) -> int | None:
    """How many training processes wrote the policy's shards; None for formats that do not say."""
    names = (_SHARD.match(path.name) for path in (checkpoint.path / "actor").glob("model_*"))
    return next((int(match["world"]) for match in names if match), None)


def _steps(folder: Path) -> list[Checkpoint]:
    """Every step folder, the latest first."""
    if not folder.is_dir():
        return []
    matches = ((_STEP.match(path.name), path) for path in folder.iterdir() if path.is_dir())
    return sorted((Checkpoint(int(match[1]), path) for match, path in matches if match), reverse=True)


def is_whole(path: Path) -> bool:
    """Whether nothing in `path` is missing or cut short."""
    if not _is_archive(path / "data.pt"):
        return False
    roles = [path / role for role in ROLES if (path / role).is_dir()]
    return (path / "actor") in roles and all(_role_is_whole(role) for role in roles)


def _role_is_whole(folder: Path) -> bool:
    shards = [(match, path) for path in folder.iterdir() if (match := _SHARD.match(path.name))]
    if not shards:
        return _said_done(folder)
    worlds = {int(match["world"]) for match, _ in shards}
    kinds = {match["kind"] for match, _ in shards}
    ranks = {(match["kind"], int(match["rank"])) for match, _ in shards}
    if len(worlds) != 1 or "model" not in kinds:
        return False
    wanted = {(kind, rank) for kind in kinds for rank in range(min(worlds))}
    return wanted <= ranks and all(_is_archive(path) for _, path in shards)


def _said_done(folder: Path) -> bool:
    """Formats without shards of FSDP's kind (Megatron's, adapters) are believed when verl said that it was done."""
    try:
        done = int((folder.parent.parent / TRACKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    match = _STEP.match(folder.parent.name)
    return match is not None and int(match[1]) <= done and any(folder.iterdir())


def _is_archive(path: Path) -> bool:
    try:
        return path.stat().st_size > 0 and zipfile.is_zipfile(path)
    except OSError:
        return False
