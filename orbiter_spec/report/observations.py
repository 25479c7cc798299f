"""What somebody who has seen many runs would point at.

Each check looks at one thing and says it with its numbers, or nothing. Thresholds are rules of thumb, wide enough that
a healthy run is silent; a check never says that a run is good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import median

from orbiter_spec.report.series import Line, tail_mean

Metrics = Mapping[str, Line]
FEW_STEPS = 5
SCORE = "critic/score/mean"
WATCHED = (SCORE, "actor/grad_norm", "actor/pg_loss", "actor/entropy", "actor/kl_loss")


def reward_is_constant(metrics: Metrics) -> Iterator[str]:
    """Nothing can be learned from one number."""
    line = metrics.get(SCORE)
    if line and len(line.values) >= FEW_STEPS and max(line.values) - min(line.values) < 1e-9:
        yield f"the reward was {line.values[0]:.4g} in all {len(line.values)} steps: nothing can be learned from it"


def reward_has_fallen(metrics: Metrics) -> Iterator[str]:
    """The end is clearly below the best stretch."""
    line = metrics.get(SCORE)
    if line is None or len(line.values) < 4 * FEW_STEPS:
        return
    width = max(FEW_STEPS, len(line.values) // 10)
    means = [sum(line.values[at : at + width]) / width for at in range(0, len(line.values) - width + 1, width)]
    best, last = max(means), tail_mean(line.values)
    span = best - min(means)
    if span > 0 and best - last > 0.5 * span:
        at = line.steps[means.index(best) * width]
        yield f"the reward fell from {best:.4g} around step {at} to {last:.4g} at the end"


def groups_have_one_score(metrics: Metrics) -> Iterator[str]:
    """Every answer of a step got the same score: group-relative advantages are zero."""
    high, low = metrics.get("critic/score/max"), metrics.get("critic/score/min")
    if not high or not low:
        return
    same = [step for step, top, bottom in zip(high.steps, high.values, low.values, strict=False) if top == bottom]
    if len(same) >= max(2, len(high.steps) // 4):
        yield f"in {len(same)} of {len(high.steps)} steps every answer got the same score, so no answer was preferred"


def answers_hit_the_limit(metrics: Metrics) -> Iterator[str]:
    """Answers that are cut rarely end in what the reward looks for."""
    line = metrics.get("response_length/clip_ratio")
    if line and tail_mean(line.values) > 0.5:
        yield (
            f"{tail_mean(line.values):.0%} of the answers were cut at the limit of tokens towards the end: "
            "raise agent.limits.response_tokens if they should end by themselves"
        )


def entropy_collapsed(metrics: Metrics) -> Iterator[str]:
    """The policy gives nearly the same answer every time."""
    line = metrics.get("actor/entropy")
    if line and len(line.values) >= FEW_STEPS and line.values[0] > 0 and tail_mean(line.values) < 0.05 * line.values[0]:
        yield f"entropy fell from {line.values[0]:.3g} to {tail_mean(line.values):.3g} nats: answers hardly vary now"


def gradient_jumped(metrics: Metrics) -> Iterator[str]:
    """A step far outside what is usual."""
    line = metrics.get("actor/grad_norm")
    if not line or len(line.values) < FEW_STEPS:
        return
    usual, most = median(line.values), max(line.values)
    if usual > 0 and most > 20 * usual:
        yield f"the gradient norm was {most:.3g} at step {line.steps[line.values.index(most)]}, usually {usual:.3g}"


def rollout_disagrees(metrics: Metrics) -> Iterator[str]:
    """The engine that answers and the model that learns should give the same probabilities."""
    line = metrics.get("training/rollout_actor_probs_pearson_corr")
    if line and min(line.values) < 0.9:
        yield (
            f"probabilities of the rollout engine and of the trained model agree badly (correlation "
            f"{min(line.values):.2f} at step {line.steps[line.values.index(min(line.values))]})"
        )


def rewards_failed(metrics: Metrics) -> Iterator[str]:
    """Parts of the reward that raised and counted as a number."""
    for name, line in metrics.items():
        if name.startswith("reward/") and name.endswith("/errors/mean") and max(line.values) > 0:
            part = name.removeprefix("reward/").removesuffix("/errors/mean")
            yield f"the reward {part} failed on {max(line.values):.1%} of the answers of a step"


def numbers_vanished(metrics: Metrics) -> Iterator[str]:
    """verl measured it and then did not, as a number that is not finite is left out."""
    newest = max((line.steps[-1] for line in metrics.values() if line), default=0)
    for name in WATCHED:
        line = metrics.get(name)
        if line and line.steps[-1] < newest - 1:
            yield f"{name} has no finite value after step {line.steps[-1]}"


CHECKS: tuple[Callable[[Metrics], Iterator[str]], ...] = (
    reward_is_constant,
    reward_has_fallen,
    groups_have_one_score,
    answers_hit_the_limit,
    entropy_collapsed,
    gradient_jumped,
    rollout_disagrees,
    rewards_failed,
    numbers_vanished,
)


def observe(metrics: Metrics) -> list[str]:
    """Everything worth pointing at, in the order of CHECKS."""
    return [text for check in CHECKS for text in check(metrics)]
