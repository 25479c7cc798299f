"""Means and how sure they are."""

from __future__ import annotations

import random
from statistics import fmean

import pytest

from orbiter_spec.report.intervals import bootstrap, interval, normal, wilson
from orbiter_spec.report.scores import Score, as_table, scores


def test_wilson_by_the_textbook() -> None:
    """Values of R. Newcombe, Statistics in Medicine 17 (1998), table I, method 3."""
    for successes, count, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)):
        assert wilson(successes, count) == pytest.approx((low, high), abs=5e-5)
    assert wilson(1, 29) == pytest.approx((0.0061, 0.1718), abs=5e-5)


def test_scores_of_zero_and_one_take_wilson() -> None:
    assert interval([1.0] * 32) == wilson(32, 32)
    assert interval([1.0] * 32)[0] == pytest.approx(0.8928, abs=1e-4)


def test_the_bootstrap_repeats_and_comes_to_the_normal_interval() -> None:
    dice = random.Random(1)
    values = [dice.gauss(3, 2) for _ in range(900)]
    assert interval(values) == bootstrap(values) == bootstrap(values)
    assert bootstrap(values) == pytest.approx(normal(values), abs=0.03)


def test_intervals_cover_as_often_as_they_say() -> None:
    """Of 200 samples of a known mean about 95% of the intervals hold it; fewer than 88% would be a wrong formula."""
    dice = random.Random(7)
    samples = [[dice.choice((0.0, 0.25, 0.5, 1.0)) for _ in range(60)] for _ in range(200)]
    held = sum(low <= 0.4375 <= high for low, high in map(interval, samples))
    assert 176 <= held <= 200


def test_one_prompt_has_no_width() -> None:
    assert interval([0.3]) == (0.3, 0.3)
    with pytest.raises(ValueError, match="no values"):
        interval([])


def record(prompt: str, answer: int, score: float, source: str | None = None, **parts: object) -> dict[str, object]:
    found = {"uid": f"{prompt}_{answer}_0", "score": score, "reward": score, "output": "x", **parts}
    return found | ({"data_source": source} if source else {})


def test_prompts_are_the_unit() -> None:
    found = scores([record("a", 0, 1.0), record("a", 1, 0.0), record("b", 0, 1.0), record("b", 1, 1.0)])
    assert [(one.source, one.measure, one.mean, one.prompts, one.answers) for one in found] == [
        ("all", "reward", 0.75, 2, 4)
    ]


def test_sources_are_counted_apart_and_together() -> None:
    records = [record(str(number), 0, number % 2, "xy"[number % 2], speed=0.5, note="text") for number in range(10)]
    found = {(one.source, one.measure): one for one in scores(records)}
    assert list(found) == [(source, measure) for source in ("x", "y", "all") for measure in ("reward", "speed")]
    assert [found[source, "reward"].mean for source in ("x", "y", "all")] == [0.0, 1.0, 0.5]
    assert found["all", "reward"].prompts == 10


def test_answers_without_a_number_are_left_out() -> None:
    found = scores([record("a", 0, 1.0, part=None), record("b", 0, 0.5, part=0.25)])
    part = next(one for one in found if one.measure == "part")
    assert (part.mean, part.prompts) == (0.25, 1)
    assert scores([]) == []


def test_the_table_lines_up() -> None:
    lines = as_table([Score("gsm8k", "reward", 0.5, 0.4, 0.6, 100, 200)]).splitlines()
    assert lines[1] == "gsm8k   reward   0.5000  0.4000 .. 0.6000  100      200"
    assert lines[0].index("mean") == lines[1].index("0.5000")


def test_the_means_are_those_of_the_prompts() -> None:
    records = [record(str(prompt), answer, (prompt * answer) % 3) for prompt in range(9) for answer in range(2)]
    by_prompt = [fmean([(prompt * answer) % 3 for answer in range(2)]) for prompt in range(9)]
    assert scores(records)[0].mean == pytest.approx(fmean(by_prompt))
