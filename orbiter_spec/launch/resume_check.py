"""Where a run goes on, and whether the checkpoint there fits a configuration that was changed since.

safe     other speed or memory, other names: the training is the same
risky    other results: it loads, and what follows is another experiment than what came before
refused  the checkpoint cannot be loaded, or would be loaded into something else

Each attempt leaves the configuration that it started with in `logs/started-with.yaml`. A checkpoint is compared with
that file of the run that it lies in, which may be another run (`run.checkpoint.resume: PATH`). One that lies in no run
folder says only how many processes wrote it.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from orbiter_spec.launch.checkpoints import Checkpoint, latest_checkpoint, named_checkpoint, world_size
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.verl_config import VerlConfig, checkpoints_folder, named_start, read_verl_file
from orbiter_spec.lower.meaning import Meaning, differences, flatten

STARTED_WITH = Path("logs", "started-with.yaml")
COMPILED = Path("compiled", "verl.yaml")
REFUSED = (
    "actor_rollout_ref.model.path",
    "actor_rollout_ref.model.lora_rank",
    "actor_rollout_ref.model.lora.rank",
    "actor_rollout_ref.actor.strategy",
    "actor_rollout_ref.model.use_liger",
    "critic.enable",
    "critic.strategy",
    "critic.model.path",
)
IGNORED = ("trainer.resume_*", "trainer.total_training_steps", "trainer.total_epochs")
WORKERS = "trainer (workers)"
SHOWN = 8


class Verdict(StrEnum):
    """What a change means for a checkpoint."""

    REFUSED = "refused"
    RISKY = "risky"
    SAFE = "safe"


@dataclass(frozen=True, slots=True)
class Change:
    """One key whose value is another than when the checkpoint was made."""

    key: str
    before: Any
    now: Any
    verdict: Verdict

    def __str__(self) -> str:
        return f"{self.verdict}: {self.key} was {self.before!r}, is {self.now!r}"


@dataclass(frozen=True, slots=True)
class Start:
    """Where a run begins: a whole checkpoint, or step 0. `run` is the folder of another run that wrote it."""

    checkpoint: Checkpoint | None = None
    changes: tuple[Change, ...] = ()
    run: Path | None = None

    @property
    def step(self) -> int:
        """The steps that are done already."""
        return self.checkpoint.step if self.checkpoint else 0


def starting_point(folder: RunFolder, config: VerlConfig, resume: bool) -> Start:
    """Where `folder` goes on: with `resume` after its own last whole checkpoint, else where the spec begins.

    Raises:
        CheckpointError: when the spec begins from a checkpoint that cannot be loaded.
    """
    own = latest_checkpoint(checkpoints_folder(config, folder)) if resume else None
    named = named_start(config)
    if own is not None or named is None:
        return Start(own, tuple(changes_since(folder.path, folder.compiled)) if resume else ())
    checkpoint = named_checkpoint(folder.compiled / named)
    run = run_of(checkpoint.path)
    changes = changes_since(run, folder.compiled) if run else _other_world(checkpoint, config)
    return Start(checkpoint, tuple(changes), run)


def run_of(checkpoint: Path) -> Path | None:
    """The run folder that `checkpoint` lies in."""
    parents = checkpoint.absolute().parents
    return next((path for path in parents if (path / STARTED_WITH).is_file() or (path / COMPILED).is_file()), None)


def remember(run: Path, compiled: Path) -> None:
    """Keep the configuration of `compiled` beside the run's metrics, in one move."""
    target = run / STARTED_WITH
    target.parent.mkdir(parents=True, exist_ok=True)
    stage = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copyfile(compiled / "verl.yaml", stage)
    os.replace(stage, target)


def changes_since(run: Path, compiled: Path) -> list[Change]:
    """What `compiled` says otherwise than `run` did when it last started; empty where that is not known."""
    before = next((run / name for name in (STARTED_WITH, COMPILED) if (run / name).is_file()), None)
    try:
        return compare(read_verl_file(before), read_verl_file(compiled / "verl.yaml")) if before else []
    except (OSError, ValueError):
        return []


def compare(before: VerlConfig, now: VerlConfig) -> list[Change]:
    """Every change that matters, the worst first."""
    found = [
        Change(one.key, one.left, one.right, _verdict(one.key, one.meaning))
        for one in differences(flatten(before.values), flatten(now.values))
        if not any(fnmatchcase(one.key, pattern) for pattern in IGNORED)
    ]
    if _workers(before) != _workers(now):
        found.append(Change(WORKERS, _workers(before), _workers(now), Verdict.REFUSED))
    return sorted(found, key=lambda change: (list(Verdict).index(change.verdict), change.key))


def _verdict(key: str, meaning: Meaning) -> Verdict:
    if key in REFUSED:
        return Verdict.REFUSED
    return Verdict.RISKY if meaning is Meaning.RESULTS else Verdict.SAFE


def _workers(config: VerlConfig) -> int:
    """Processes that share the policy's weights; FSDP's shards load into as many."""
    return config.number("trainer.nnodes", 1) * config.number("trainer.n_gpus_per_node", 1)


def _other_world(checkpoint: Checkpoint, config: VerlConfig) -> list[Change]:
    """All that can be told of a checkpoint without a configuration."""
    wrote, now = world_size(checkpoint), _workers(config)
    return [] if wrote in (None, now) else [Change(WORKERS, wrote, now, Verdict.REFUSED)]


def told(start: Start) -> str:
    """The changes for people, one a line."""
    lines = [f"  {change}" for change in start.changes[:SHOWN]]
    more = len(start.changes) - SHOWN
    head = f"since {start.run}:" if start.run else "since the last start:"
    return "\n".join([head, *lines, *([f"  and {more} more"] if more > 0 else [])])


def refusal(start: Start) -> str | None:
    """Why the checkpoint cannot be used, or None."""
    worst = [change for change in start.changes if change.verdict is Verdict.REFUSED]
    if not worst:
        return None
    named = ", ".join(f"{change.key} was {change.before!r} and is {change.now!r}" for change in worst[:3])
    return f"the checkpoint does not fit the configuration: {named}; start a new run, or put it back"
