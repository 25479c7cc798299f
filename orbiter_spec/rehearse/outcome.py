"""What a finished rehearsal has shown: parts of the spec, each with the number that proves it ran.

Everything is read from the run folder (verl's own metrics, the recorded answers, the checkpoints), so a part that left
no trace is not claimed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from orbiter_spec.launch.checkpoints import latest_checkpoint
from orbiter_spec.launch.metrics import read_records
from orbiter_spec.launch.run_folder import RunFolder

GRADIENT = "actor/grad_norm"
AGREEMENT = "training/rollout_actor_probs_pearson_corr"
VALIDATION = "val-core/"
PART, MEAN = "reward/", "/mean"
PHASES = {
    "timing_s/gen": "generation",
    "timing_s/reward": "rewards",
    "timing_s/old_log_prob": "log-probabilities",
    "timing_s/ref": "reference",
    "timing_s/values": "values",
    "timing_s/update_critic": "critic update",
    "timing_s/update_actor": "actor update",
    "timing_s/update_weights": "weight sync",
    "timing_s/save_checkpoint": "checkpoint",
    "timing_s/testing": "validation",
}
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shown:
    """A part of the spec that ran, and what proves it."""

    part: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Scores:
    """What one part of the reward gave over all recorded answers."""

    name: str
    count: int
    low: float
    mean: float
    high: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that a rehearsal has shown. `seconds` are of the last step, by phase.

    `gradient` is the largest norm of the gradient in any step; None where no step was measured.
    """

    shown: tuple[Shown, ...]
    scores: tuple[Scores, ...]
    seconds: Mapping[str, float]
    answers: tuple[Mapping[str, Any], ...]
    gradient: float | None = None


def read_outcome(folder: RunFolder) -> Outcome:
    """What the run in `folder` has shown so far."""
    records = list(read_records(folder.metrics))
    steps = [record for record in records if "training/global_step" in record]
    answers = tuple(_answers(folder.rollouts))
    seconds = {name: float(steps[-1][key]) for key, name in PHASES.items() if steps and key in steps[-1]}
    norms = [float(record[GRADIENT]) for record in steps if GRADIENT in record]
    return Outcome(
        tuple(_shown(folder, records, steps)),
        tuple(_scores(steps, answers)),
        seconds,
        answers,
        max(norms, default=None),
    )


def _shown(folder: RunFolder, records: Sequence[Record], steps: Sequence[Record]) -> Iterator[Shown]:
    if steps:
        norms = [float(record[GRADIENT]) for record in steps if GRADIENT in record]
        largest = f", largest gradient norm {max(norms):.3g}" if norms else ""
        yield Shown("training", f"{len(steps)} steps{largest}")
    for part, key, said in EVIDENCE:
        values = [float(record[key]) for record in records if key in record]
        if values:
            yield Shown(part, said.format(low=min(values), mean=fmean(values), high=max(values), count=len(values)))
    validations = [record for record in records if any(key.startswith(VALIDATION) for key in record)]
    if validations:
        yield Shown("validation", f"{len(validations)} times")
    kept = latest_checkpoint(folder.checkpoints)
    if kept is not None:
        yield Shown("checkpoint", f"step {kept.step}, whole")


EVIDENCE = (
    ("rollout and trainer agree", AGREEMENT, "probabilities correlate at {low:.4f} or more"),
    ("reference model", "actor/kl_loss", "KL in the loss {mean:.3g}"),
    ("reference model", "actor/reward_kl_penalty", "KL in the reward {mean:.3g}"),
    ("critic", "critic/vf_loss", "value loss {mean:.3g}"),
    ("advantages", "critic/advantages/min", "{low:.3g} at least"),
    ("advantages", "critic/advantages/max", "{high:.3g} at most"),
    ("loss", "actor/pg_loss", "policy loss {low:.3g} to {high:.3g}"),
    ("rollout correction", "rollout_corr/rollout_is_mean", "weights of {mean:.3g} on average"),
    ("rollout correction", "rollout_corr/rollout_rs_masked_fraction", "{mean:.3g} of the tokens rejected"),
    ("group filtering", "training/filter_groups/evicted_samples", "{high:.0f} groups replaced at most"),
    ("entropy", "actor/entropy", "{mean:.3g} nats"),
    ("answers", "response_length/mean", "{mean:.0f} tokens on average"),
    ("turns", "num_turns/mean", "{mean:.3g} messages on average"),
    ("turns", "num_turns/max", "{high:.0f} messages at most"),
    ("turns of the model", "agent/turns/mean", "{mean:.3g} an answer"),
    ("tool calls", "agent/tool_calls/mean", "{mean:.3g} an answer"),
    ("tool calls", "agent/tool_success_share", "{mean:.0%} of them without an error"),
    ("environment", "agent/environment_return/mean", "return {mean:.3g}"),
    ("environment", "agent/done/mean", "{mean:.0%} of the episodes ended"),
)


def _answers(folder: Path) -> Iterator[dict[str, Any]]:
    """Recorded answers, one JSON object a line; a line cut short by a stop is left out."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record


def _scores(steps: Sequence[Record], answers: Sequence[Record]) -> Iterator[Scores]:
    names = {
        key[len(PART) : -len(MEAN)] for record in steps for key in record if key.startswith(PART) and key.endswith(MEAN)
    }
    for name in sorted(name for name in names if "/" not in name):
        own = [record for record in steps if f"{PART}{name}{MEAN}" in record]
        yield Scores(
            name,
            len(answers),
            min(float(record[f"{PART}{name}/min"]) for record in own),
            fmean(float(record[f"{PART}{name}{MEAN}"]) for record in own),
            max(float(record[f"{PART}{name}/max"]) for record in own),
        )
    totals = [float(answer["score"]) for answer in answers if isinstance(answer.get("score"), int | float)]
    if totals:
        yield Scores("total", len(totals), min(totals), fmean(totals), max(totals))
