"""Merging attempts, and reading verl's names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orbiter_spec.launch.metrics import (
    MetricsFollower,
    attempts,
    merge,
    merge_attempts,
    next_attempt,
    parse_line,
    read_records,
)
from orbiter_spec.launch.reading import curve, read, validation_scores


def line(step: int, **data: object) -> str:
    return json.dumps({"step": step, "data": data}) + "\n"


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"step": 3, "data": {"a', "[1]", "null", '{"data": {}}', '{"step": null, "data": {}}', "\x00\x00"],
)
def test_what_is_no_record_is_left_out(text: str) -> None:
    assert parse_line(text) is None


def test_only_finite_numbers_are_kept() -> None:
    text = '{"step": 2, "data": {"a": 1, "b": null, "c": "x", "d": NaN, "e": true, "f": 0.5, "step": 9}}'
    assert parse_line(text) == {"step": 2, "a": 1, "f": 0.5}


def test_an_attempt_replaces_what_was_never_saved() -> None:
    first = [{"step": step, "attempt": 1} for step in range(8)]
    second = [{"step": step, "attempt": 2} for step in (4, 5, 6)]
    third = [{"step": step, "attempt": 3} for step in (5, 6, 7)]
    merged = merge([(0, first), (4, second), (5, third)])
    assert [(one["step"], one["attempt"]) for one in merged] == [
        (0, 1), (1, 1), (2, 1), (3, 1), (4, 2), (5, 3), (6, 3), (7, 3),
    ]  # fmt: skip


def test_an_attempt_that_measured_nothing_still_takes_back_what_was_lost() -> None:
    assert [one["step"] for one in merge([(0, [{"step": 1}, {"step": 2}, {"step": 3}]), (2, [])])] == [1, 2]


def test_following_carries_whole_lines_and_merges_validation(tmp_path: Path) -> None:
    first = next_attempt(tmp_path, 0)
    first.path.write_text(line(1, a=1) + line(2, a=2) + line(3, a=3))
    second = next_attempt(tmp_path, 2)
    assert (second.number, second.path.name) == (2, "metrics-02-from-000002.jsonl")
    goal = tmp_path / "metrics.jsonl"
    follower = MetricsFollower(tmp_path, second, goal)
    assert list(follower.poll()) == []
    assert [one["step"] for one in read_records(goal)] == [1, 2]
    with second.path.open("w") as file:
        file.write(line(2, val=0.5) + line(3, a=30)[:10])
        file.flush()
        assert [one["step"] for one in follower.poll()] == [2]
        assert read_records(goal)[-1] == {"step": 2, "a": 2, "val": 0.5}
        file.write(line(3, a=30)[10:] + line(4, a=40))
        file.flush()
        assert [one["step"] for one in follower.poll()] == [3, 4]
    followed = goal.read_text()
    assert merge_attempts(tmp_path, goal) == read_records(goal)
    assert goal.read_text() == followed
    assert [one["step"] for one in read_records(goal)] == [1, 2, 3, 4]


def test_attempts_come_in_order_and_strangers_are_no_attempts(tmp_path: Path) -> None:
    for name in ("metrics-10-from-000000.jsonl", "metrics-02-from-000004.jsonl", "metrics.jsonl", "verl.log"):
        (tmp_path / name).touch()
    assert [(one.number, one.from_step) for one in attempts(tmp_path)] == [(2, 4), (10, 0)]


def test_readings_take_the_first_name_that_is_there() -> None:
    reading = read({"step": 3, "critic/rewards/mean": 0.4, "critic/score/mean": 0.5, "actor/ppo_kl": 0.1})
    assert (reading.reward, reading.kl, reading.entropy) == (0.5, 0.1, None)
    assert read({"step": 3, "actor/ppo_kl": 0.1, "actor/kl_loss": 0.2}).kl == 0.2


def test_validation_scores_by_source() -> None:
    record = {
        "step": 5,
        "val-core/openai/gsm8k/acc/mean@1": 0.2,
        "val-core/openai/gsm8k/acc/mean@8": 0.3,
        "val-core/openai/gsm8k/acc/best@8/mean": 0.9,
        "val-core/math/reward/mean@1": 0.5,
        "val-aux/math/other/mean@1": 0.7,
    }
    assert validation_scores(record) == {"math": 0.5, "openai/gsm8k": 0.3}
    assert read(record).validation_score == pytest.approx(0.4)
    assert curve([record, {"step": 6, "critic/score/mean": 1.0}], validation=True) == [(5, pytest.approx(0.4))]
