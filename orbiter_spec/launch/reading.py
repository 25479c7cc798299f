"""verl's metric names as the few numbers that people watch.

verl has several names for one thing, by algorithm and configuration; the first that is there counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Record = Mapping[str, float]

NAMES: dict[str, tuple[str, ...]] = {
    "reward": ("critic/score/mean", "critic/rewards/mean"),
    "kl": ("actor/kl_loss", "actor/reward_kl_penalty", "actor/ppo_kl"),
    "entropy": ("actor/entropy", "actor/entropy_loss"),
    "response_tokens": ("response_length/mean", "response_length_non_aborted/mean"),
    "seconds": ("timing_s/step", "perf/time_per_step"),
    "tokens_per_second_per_gpu": ("perf/throughput",),
    "memory_gb": ("actor/perf/max_memory_allocated_gb", "perf/max_memory_allocated_gb"),
}
PART, MEAN = "reward/", "/mean"
VALIDATION = "val-core/"


@dataclass(frozen=True, slots=True)
class Reading:
    """One step in the words people use; None where verl did not measure it."""

    step: int
    reward: float | None = None
    kl: float | None = None
    entropy: float | None = None
    response_tokens: float | None = None
    seconds: float | None = None
    tokens_per_second_per_gpu: float | None = None
    memory_gb: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    validation: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_training(self) -> bool:
        """False for a record of validation alone."""
        return self.reward is not None or self.seconds is not None

    @property
    def validation_score(self) -> float | None:
        """The mean over data sources of verl's main validation score."""
        return sum(self.validation.values()) / len(self.validation) if self.validation else None


def read(record: Record) -> Reading:
    """The numbers of `record` that people watch."""
    found = {name: next((float(record[key]) for key in keys if key in record), None) for name, keys in NAMES.items()}
    return Reading(int(record["step"]), validation=validation_scores(record), parts=reward_parts(record), **found)


def reward_parts(record: Record) -> dict[str, float]:
    """Mean of each part of the reward, before its weight; what a part reports beside its score is left out."""
    found = {key[len(PART) : -len(MEAN)]: value for key, value in record.items() if _is_part(key)}
    return {name: float(value) for name, value in found.items() if "/" not in name}


def _is_part(key: str) -> bool:
    return key.startswith(PART) and key.endswith(MEAN)


def validation_scores(record: Record) -> dict[str, float]:
    """Mean validation score by data source: `val-core/SOURCE/VARIABLE/mean@K`, of the largest K there is."""
    scores: dict[str, tuple[int, float]] = {}
    for key, value in record.items():
        if not key.startswith(VALIDATION):
            continue
        source, mark, draws = key.removeprefix(VALIDATION).rpartition("/mean@")
        if not mark or not draws.isdigit():
            continue
        name = source.rpartition("/")[0] or source
        if name not in scores or int(draws) > scores[name][0]:
            scores[name] = (int(draws), float(value))
    return {name: value for name, (_, value) in sorted(scores.items())}


def curve(records: Iterable[Record], *, validation: bool) -> list[tuple[int, float]]:
    """Points (step, reward) of training or validation."""
    readings = [read(record) for record in records]
    points = [(one.step, one.validation_score if validation else one.reward) for one in readings]
    return [(step, value) for step, value in points if value is not None]
