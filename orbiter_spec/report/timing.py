"""Where the time of a step goes, from verl's `timing_s/<phase>`.

verl times some phases inside others. The table below names the outer ones in their order within a step; what they leave
of `timing_s/step` is "other". Names that are not in the table are shown in the list of all metrics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orbiter_spec.report.series import Line

STEP = "timing_s/step"
PHASES: tuple[tuple[str, str], ...] = (
    ("gen", "answers"),
    ("reward", "reward"),
    ("old_log_prob", "log-probabilities"),
    ("ref", "reference"),
    ("values", "values"),
    ("teacher", "teacher"),
    ("adv", "advantages"),
    ("update_critic", "critic update"),
    ("update_actor", "policy update"),
    ("update_weights", "weights to the rollout"),
    ("dump_rollout_generations", "writing answers"),
    ("save_checkpoint", "checkpoints"),
    ("testing", "validation"),
)


@dataclass(frozen=True, slots=True)
class Phase:
    """Seconds of all steps spent in one phase; `share` is of the steps' own time."""

    name: str
    seconds: float
    share: float


def phases(metrics: Mapping[str, Line]) -> list[Phase]:
    """The phases that were timed, in their order, with what is left as `other`; empty where no step was timed."""
    timed = [(label, sum(metrics[f"timing_s/{key}"].values)) for key, label in PHASES if f"timing_s/{key}" in metrics]
    named = sum(seconds for _, seconds in timed)
    total = max(named, sum(metrics[STEP].values) if STEP in metrics else 0.0)
    if not total:
        return []
    rest = total - named
    timed += [("other", rest)] if rest > 0.005 * total else []
    return [Phase(label, seconds, seconds / total) for label, seconds in timed]
