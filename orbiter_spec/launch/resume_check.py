"""Going on with a changed configuration: what changed since the checkpoint was made, and whether that can work.

safe     other speed or memory, other names: the training is the same
risky    other results: it loads, and what follows is another experiment than what came before
refused  the checkpoint cannot be loaded, or would be loaded into something else

Each attempt leaves the configuration that it started with in `logs/started-with.yaml`; a checkpoint inside a run folder
is compared with that file of its own run.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from orbiter_spec.launch.verl_config import VerlConfig, read_verl_config
from orbiter_spec.lower.meaning import Meaning, differences

STARTED_WITH = Path("logs", "started-with.yaml")
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


def remember(run: Path, compiled: Path) -> None:
    """Keep the configuration of `compiled` beside the run's metrics, in one move."""
    target = run / STARTED_WITH
    stage = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copyfile(compiled / "verl.yaml", stage)
    os.replace(stage, target)


def changes_since(run: Path, compiled: Path) -> list[Change]:
    """What `compiled` says otherwise than the run did when it last started; empty where that is not known."""
    try:
        before = VerlConfig(_read(run / STARTED_WITH))
        now = read_verl_config(compiled)
    except (OSError, ValueError):
        return []
    return compare(before, now)


def _read(path: Path) -> Mapping[str, Any]:
    from ruamel.yaml import YAML

    values = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    if not isinstance(values, Mapping):
        raise ValueError(f"{path} is no mapping")
    return values


def compare(before: VerlConfig, now: VerlConfig) -> list[Change]:
    """Every change that matters, the worst first."""
    found = [
        Change(one.key, one.left, one.right, _verdict(one.key, one.meaning))
        for one in differences(flat(before.values), flat(now.values))
        if not any(fnmatchcase(one.key, pattern) for pattern in IGNORED)
    ]
    if _workers(before) != _workers(now):
        found.append(Change("trainer (workers)", _workers(before), _workers(now), Verdict.REFUSED))
    return sorted(found, key=lambda change: (list(Verdict).index(change.verdict), change.key))


def _verdict(key: str, meaning: Meaning) -> Verdict:
    if key in REFUSED:
        return Verdict.REFUSED
    return Verdict.RISKY if meaning is Meaning.RESULTS else Verdict.SAFE


def _workers(config: VerlConfig) -> int:
    """Processes that share the policy's weights; FSDP's shards load into as many."""
    return config.number("trainer.nnodes", 1) * config.number("trainer.n_gpus_per_node", 1)


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as dotted keys."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        key = f"{prefix}{name}"
        found |= flat(value, f"{key}.") if isinstance(value, Mapping) and value else {key: value}
    return found


def told(changes: list[Change]) -> str:
    """The changes for people, one a line."""
    lines = [f"  {change}" for change in changes[:SHOWN]]
    more = len(changes) - SHOWN
    return "\n".join(["since the last start:", *lines, *([f"  and {more} more"] if more > 0 else [])])


def refusal(changes: list[Change]) -> str | None:
    """Why the checkpoint cannot be used, or None."""
    worst = [change for change in changes if change.verdict is Verdict.REFUSED]
    if not worst:
        return None
    named = ", ".join(f"{change.key} was {change.before!r} and is {change.now!r}" for change in worst[:3])
    return f"the checkpoint does not fit the configuration: {named}; start a new run, or put it back"
