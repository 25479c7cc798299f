"""How sure a mean over prompts is: 95% intervals.

The prompt is the unit: answers to one prompt resemble each other, so several of them are averaged first and prompts are
what is drawn again. Three cases:

* every prompt scored 0 or 1: the Wilson score interval (E. B. Wilson, "Probable inference, the law of succession, and
  statistical inference", JASA 22, 1927), which stays within 0 and 1 and is honest when all are right or all are wrong;
* up to `BOOTSTRAP_PROMPTS` prompts: the percentile bootstrap (B. Efron, R. Tibshirani, "An Introduction to the
  Bootstrap", 1993, section 13.3), with a fixed seed, so that the same answers give the same interval;
* more: the normal interval, mean +- z s / sqrt(n), which the bootstrap comes to and which costs nothing.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import fmean, stdev

Z = 1.959963984540054
RESAMPLES = 2000
BOOTSTRAP_PROMPTS = 1000
TAIL = 0.025


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Bounds of the 95% interval of the mean of `values`, one a prompt; one prompt alone has no width to tell.

    Raises:
        ValueError: when there are no values.
    """
    if not values:
        raise ValueError("no values")
    if set(values) <= {0.0, 1.0}:
        return wilson(sum(values), len(values))
    if len(values) == 1:
        return values[0], values[0]
    return bootstrap(values) if len(values) <= BOOTSTRAP_PROMPTS else normal(values)


def wilson(successes: float, count: int) -> tuple[float, float]:
    """(p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n) of `successes` out of `count`."""
    share, square = successes / count, Z * Z
    middle = share + square / (2 * count)
    half = Z * math.sqrt(share * (1 - share) / count + square / (4 * count * count))
    scale = 1 + square / count
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """The 2.5th and 97.5th percentile of means of samples drawn from `values` with replacement."""
    dice = random.Random(len(values))
    means = sorted(fmean(dice.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[round(TAIL * (RESAMPLES - 1))], means[round((1 - TAIL) * (RESAMPLES - 1))]


def normal(values: Sequence[float]) -> tuple[float, float]:
    """mean ± z s / sqrt(n), with the sample's standard deviation s."""
    mean, half = fmean(values), Z * stdev(values) / math.sqrt(len(values))
    return mean - half, mean + half
