"""Which plots a report has, and which of verl's metrics each one shows.

verl names one thing differently by algorithm and configuration. Where `first` is set only the first name that was
measured is drawn; else each name that was. A pattern with `{}` stands for every metric that fits, and labels its line;
`VALIDATION` stands for verl's main validation scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from orbiter_spec.report.series import Line

Named = tuple[str, str]
VALIDATION = "val-core/*"
STATISTICS = {"best": "best", "maj": "majority"}
_VALIDATION = re.compile(r"^val-core/(.+)/[^/]+/(mean|best|maj)@(\d+)(?:/mean)?$")


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot: `metrics` are pairs of verl's name and the label of the line.

    Several runs are compared by the first line alone where `compared_by_first` is set, else line by line. `apart` gives
    each line a plot of its own, for measures of unlike size.
    """

    key: str
    title: str
    unit: str
    metrics: tuple[Named, ...]
    first: bool = False
    about: str = ""
    only_if_it_changes: bool = False
    compared_by_first: bool = False
    apart: bool = False


PANELS: tuple[Panel, ...] = (
    Panel(
        "reward",
        "Reward",
        "",
        (("critic/score/mean", "mean"), ("critic/rewards/mean", "mean")),
        first=True,
        about="Mean over the answers of a step.",
    ),
    Panel("parts", "Reward by part", "", (("reward/{}/mean", ""),), about="Means before weighting."),
    Panel(
        "validation",
        "Validation",
        "",
        ((VALIDATION, ""),),
        about="Mean score by data source.",
    ),
    Panel(
        "kl",
        "KL divergence",
        "nats",
        (
            ("actor/kl_loss", "to the reference, in the loss"),
            ("actor/reward_kl_penalty", "to the reference, in the reward"),
            ("actor/ppo_kl", "to the policy before the update"),
        ),
        about="How far the policy has moved.",
    ),
    Panel("entropy", "Entropy", "nats", (("actor/entropy", "mean"), ("actor/entropy_loss", "mean")), first=True),
    Panel(
        "lengths",
        "Answer length",
        "tokens",
        (("response_length/mean", "mean"), ("response_length/max", "longest"), ("response_length/min", "shortest")),
        compared_by_first=True,
    ),
    Panel("clipped", "Answers cut at the limit", "share", (("response_length/clip_ratio", "cut"),)),
    Panel(
        "turns",
        "Turns",
        "",
        (("num_turns/mean", "mean"), ("num_turns/max", "most")),
        only_if_it_changes=True,
        compared_by_first=True,
    ),
    Panel(
        "agent",
        "Agent",
        "",
        (
            ("agent/{}/mean", ""),
            ("agent/tool_success_share", "tool calls that succeed"),
            ("tool_call_counts/mean", "calls"),
        ),
        apart=True,
        about="Mean over the episodes of a step.",
    ),
    Panel("throughput", "Throughput", "tokens/s per GPU", (("perf/throughput", "tokens"),)),
    Panel("step_time", "Time per step", "s", (("timing_s/step", "step"), ("perf/time_per_step", "step")), first=True),
    Panel("gradient", "Gradient norm", "", (("actor/grad_norm", "policy"), ("critic/grad_norm", "critic"))),
    Panel(
        "clip",
        "Clipped updates",
        "share",
        (("actor/pg_clipfrac", "above"), ("actor/pg_clipfrac_lower", "below")),
        only_if_it_changes=True,
    ),
    Panel(
        "critic", "Critic", "", (("critic/vf_loss", "value loss"), ("critic/vf_explained_var", "explained variance"))
    ),
    Panel(
        "gpu_memory",
        "Memory of a training process",
        "GB",
        (
            ("actor/perf/max_memory_allocated_gb", "most allocated"),
            ("perf/max_memory_allocated_gb", "most allocated"),
            ("critic/perf/max_memory_allocated_gb", "most allocated, critic"),
        ),
        about="On its GPU; without one, main memory.",
    ),
    Panel(
        "use",
        "Use of the machine",
        "%",
        (("machine/cpu_percent", "cores"), ("machine/gpu_percent", "GPUs")),
        about="Mean over each step, of the machine that the run was started on.",
    ),
    Panel(
        "cpu_memory",
        "Main memory",
        "GB",
        (
            ("actor/perf/cpu_memory_used_gb", "used"),
            ("perf/cpu_memory_used_gb", "used"),
            ("machine/memory_gb", "used"),
        ),
        first=True,
        about="In use on the training node, by all programs.",
    ),
)


def lines_of(panel: Panel, metrics: Mapping[str, Line]) -> dict[str, Line]:
    """The lines of `panel` by label, in the order of its metrics; a label is drawn once."""
    found: dict[str, Line] = {}
    for name, label in _matches(panel.metrics, metrics):
        if metrics[name] and label not in found and not (panel.first and found):
            found[label] = metrics[name]
    if panel.only_if_it_changes and all(len(set(line.values)) == 1 for line in found.values()):
        return {}
    return found


def _matches(wanted: Iterable[Named], metrics: Mapping[str, Line]) -> Iterator[Named]:
    for name, label in wanted:
        if name == VALIDATION:
            yield from ((metric, found) for metric in metrics if (found := validation_label(metric)))
        elif "{}" in name:
            pattern = re.compile("^" + re.escape(name).replace(r"\{\}", "(.+)") + "$")
            yield from ((metric, match[1]) for metric in metrics if (match := pattern.match(metric)))
        elif name in metrics:
            yield name, label


def validation_label(metric: str) -> str | None:
    """`val-core/SOURCE/VARIABLE/mean@K` as `SOURCE`, best and majority of K as such; None for spreads and others."""
    match = _VALIDATION.match(metric)
    if match is None:
        return None
    source, statistic, count = match.groups()
    return source if statistic == "mean" else f"{source}, {STATISTICS[statistic]} of {count}"
