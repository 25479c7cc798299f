"""Thinning keeps what a person would see."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbiter_spec.report.observations import observe
from orbiter_spec.report.panels import validation_label
from orbiter_spec.report.samples import spread
from orbiter_spec.report.series import Line, by_metric, tail_mean, thin


def line(values: list[float]) -> Line:
    return Line(tuple(range(1, len(values) + 1)), tuple(values))


def test_a_short_line_is_left_alone() -> None:
    short = line([1.0, 2.0])
    assert thin(short, 10) is short


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300), st.integers(1, 50))
def test_extremes_survive(values: list[float], points: int) -> None:
    found = thin(line(values), points)
    assert len(found.steps) <= points or len(values) <= points
    assert max(found.high or found.values) == max(values)
    assert min(found.low or found.values) == min(values)
    assert list(found.steps) == sorted(found.steps)


def test_the_mean_of_a_bucket() -> None:
    found = thin(line([0.0, 2.0, 10.0, 20.0]), 2)
    assert (found.values, found.low, found.high) == ((1.0, 15.0), (0.0, 10.0), (2.0, 20.0))


def test_metrics_that_are_not_in_every_record() -> None:
    found = by_metric([{"step": 0, "a": 1.0}, {"step": 1, "b": 2.0}, {"step": 2, "a": 3.0}])
    assert found["a"] == Line((0, 2), (1.0, 3.0))


@pytest.mark.parametrize(
    ("metric", "label"),
    [
        ("val-core/gsm8k/reward/mean@1", "gsm8k"),
        ("val-core/openai/gsm8k/acc/mean@8", "openai/gsm8k"),
        ("val-core/gsm8k/acc/best@8/mean", "gsm8k, best of 8"),
        ("val-core/gsm8k/acc/maj@4/mean", "gsm8k, majority of 4"),
        ("val-core/gsm8k/acc/best@8/std", None),
        ("val-aux/gsm8k/acc/mean@1", None),
    ],
)
def test_validation_metrics_in_few_words(metric: str, label: str | None) -> None:
    assert validation_label(metric) == label


def test_tail_mean_is_of_the_last_tenth() -> None:
    assert tail_mean([*([0.0] * 18), 1.0, 3.0]) == 2.0
    assert tail_mean([5.0]) == 5.0


def test_spread_keeps_both_ends() -> None:
    assert spread(range(100), 4) == [0, 33, 66, 99]
    assert spread([1, 2], 4) == [1, 2]


def test_observations_name_the_numbers() -> None:
    steps = 40
    found = observe(
        {
            "critic/score/mean": line([*([0.2] * 10), *([0.9] * 20), *([0.1] * 10)]),
            "response_length/clip_ratio": line([0.75] * steps),
            "actor/entropy": line([2.0, *([0.01] * (steps - 1))]),
            "actor/grad_norm": line([1.0] * 39 + [500.0]),
            "reward/judge/errors/mean": line([0.25]),
            "actor/pg_loss": line([1.0] * 30),
        }
    )
    text = "\n".join(found)
    for part in (
        "fell from 0.9",
        "to 0.1",
        "75% of the answers",
        "from 2 to 0.01",
        "500 at step 40",
        "25.0%",
        "after step 30",
    ):
        assert part in text


def test_a_healthy_run_is_silent() -> None:
    rising = [0.1 + 0.01 * step for step in range(60)]
    metrics = {"critic/score/mean": line(rising), "actor/entropy": line([2.0 - value for value in rising])}
    assert observe(metrics) == []
