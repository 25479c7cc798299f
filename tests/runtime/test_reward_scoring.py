"""How parts become one number: gates, ranges, shaping, steps, batches, and calls at once."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import ray.cloudpickle

from orbiter_spec.runtime.reward_library.scoring import ERROR_WINDOW
from orbiter_spec.runtime.reward_library.shaping import shape
from orbiter_spec.runtime.reward_library.steps import combine, split
from tests.runtime.compiled_rewards import builtin, compiled_rewards, part, score

CODE = """
import asyncio, threading, time
calls = []

def number(response): return float(response)
def right(response, expected): calls.append(response); return float(response == expected)
def costly(response): calls.append("costly"); return 1.0
def fails(response): raise KeyError("gone")
def half(response): return 0.5
def sizes(response, expected): calls.append(len(response)); return [len(text) for text in response]
async def slow(response): await asyncio.sleep(0.3); return 1.0
def blocking(response): time.sleep(0.3); return 1.0
async def many(response): await asyncio.sleep(0.05); return [1.0] * len(response)
def too_few(response): return [1.0]
"""


def calls() -> list[Any]:
    """What the loaded functions noted down."""
    (loaded,) = [
        found
        for name, found in sys.modules.items()
        if name.partition("_")[0] in ("orbiter", "rewards") and hasattr(found, "calls")
    ]
    return list(loaded.calls)


def test_a_part_counts_only_where_its_gate_lets_it_and_is_not_called_elsewhere(tmp_path: Path) -> None:
    gated = part("costly", only_if={"part": "right", "at_least": 1.0}, weight=0.5)
    module = compiled_rewards(tmp_path, [gated, part("right")], CODE)
    assert score(module, "2") == {"score": 1.5, "costly": 1.0, "costly/counted": 1.0, "right": 1.0}
    assert score(module, "3") == {"score": 0.0, "costly": 0.0, "costly/counted": 0.0, "right": 0.0}
    assert calls() == ["2", "costly", "3"]


def test_a_gate_behind_a_closed_gate_is_closed(tmp_path: Path) -> None:
    chain = [
        part("right"),
        part("half", only_if={"part": "right"}),
        part("costly", only_if={"part": "half", "at_least": 0.5}),
    ]
    module = compiled_rewards(tmp_path, chain, CODE)
    assert score(module, "2")["score"] == 2.5
    assert score(module, "3")["costly/counted"] == 0.0


@pytest.mark.parametrize(("gate", "said"), [("none", "'none'"), ("right", "'right'")])
def test_a_gate_that_leads_nowhere_is_refused(tmp_path: Path, gate: str, said: str) -> None:
    with pytest.raises(RuntimeError, match=f"only_if leads to {said}"):
        compiled_rewards(tmp_path, [part("right", only_if={"part": gate})], CODE)


@pytest.mark.parametrize(("combine_by", "total"), [("sum", 2.5), ("product", 1.0), ("min", 0.5), (None, 2.5)])
def test_parts_are_combined_as_the_file_says(tmp_path: Path, combine_by: str | None, total: float) -> None:
    parts = [part("number", weight=1.0), part("half"), builtin("exact_match", weight=0.0)]
    shared = {"combine": combine_by} if combine_by else {}
    assert score(compiled_rewards(tmp_path, parts, CODE, **shared), "2", "3")["score"] == total


def test_the_total_is_cut_to_its_ends(tmp_path: Path) -> None:
    module = compiled_rewards(tmp_path, [part("number")], CODE, clip=[-1, 1])
    assert [score(module, text)["score"] for text in ("7", "-7", "0.5")] == [1, -1, 0.5]


@pytest.mark.parametrize(
    ("declared", "value", "shaped"),
    [
        ({"normalize": "range", "range": [0, 10]}, 2.0, 0.2),
        ({"normalize": "sigmoid"}, 0.0, 0.5),
        ({"normalize": "sigmoid"}, -1000.0, 0.0),
        ({"normalize": "sigmoid"}, 1000.0, 1.0),
        ({"clip": [0, 1]}, 3.0, 1.0),
        ({"normalize": "range", "range": [0, 10], "clip": [0.5, 1]}, 2.0, 0.5),
    ],
)
def test_values_are_shaped(declared: dict[str, Any], value: float, shaped: float) -> None:
    found = shape(declared)
    assert found is not None
    assert found(value) == pytest.approx(shaped)


def test_running_normalizing_agrees_with_the_formula() -> None:
    running, values = shape({"normalize": "running"}), [3.0, -1.0, 4.0, 1.0, 5.0]
    assert running is not None
    last = [running(value) for value in values][-1]
    mean = sum(values) / 5
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / 4)
    assert last == pytest.approx((values[-1] - mean) / deviation)


def test_a_shaped_part_shows_what_was_returned_as_well(tmp_path: Path) -> None:
    module = compiled_rewards(tmp_path, [part("number", range=[0, 4], normalize="range")], CODE)
    assert score(module, "3") == {"score": 0.75, "number": 0.75, "number/raw": 3.0}
    with pytest.raises(RuntimeError, match="returned 5, which is outside its range of 0 to 4"):
        score(module, "5")


def test_skip_leaves_the_part_out_of_that_sample(tmp_path: Path) -> None:
    module = compiled_rewards(tmp_path, [part("fails", on_error="skip"), part("half")], CODE, combine="min")
    assert score(module) == {"score": 0.5, "fails": 0.0, "fails/counted": 0.0, "fails/errors": 1.0, "half": 0.5}


@pytest.mark.parametrize(("limit", "allowed"), [(None, ERROR_WINDOW - 1), (0.5, ERROR_WINDOW - 1)])
def test_a_part_that_only_fails_ends_the_run(tmp_path: Path, limit: float | None, allowed: int) -> None:
    extra = {} if limit is None else {"error_limit": limit}
    module = compiled_rewards(tmp_path, [part("fails", on_error=0.0, **extra)], CODE)
    for _ in range(allowed):
        assert score(module)["fails/errors"] == 1.0
    with pytest.raises(RuntimeError, match="100 of the last 100 scores failed"):
        score(module)


def test_one_good_score_in_the_window_keeps_the_run_going(tmp_path: Path) -> None:
    module = compiled_rewards(tmp_path, [part("number", on_error=0.0)], CODE)
    for index in range(3 * ERROR_WINDOW):
        score(module, "1" if index % ERROR_WINDOW == 0 else "one")


@pytest.mark.parametrize(
    ("how", "discount", "value"),
    [
        ("mean", 1.0, 2.0),
        ("sum", 0.5, 2.75),
        ("min", 1.0, 1.0),
        ("max", 1.0, 3.0),
        ("last", 1.0, 3.0),
        ("product", 1.0, 6.0),
    ],
)
def test_steps_are_combined(how: str, discount: float, value: float) -> None:
    assert combine([1.0, 2.0, 3.0], how, discount) == value
    assert combine([], how) == 0.0


def test_a_response_is_split_and_the_last_step_keeps_the_rest() -> None:
    assert split("a\n\nb\n\n\nc\n\n", r"\n\s*\n", 32) == ["a", "b", "c"]
    assert split("a\n\nb\n\nc", r"\n\s*\n", 2) == ["a", "b\nc"]


def test_each_step_is_scored(tmp_path: Path) -> None:
    steps = {"split": r"\s+", "combine": "min"}
    module = compiled_rewards(tmp_path, [part("number", steps=steps)], CODE)
    assert score(module, "3 1 2") == {"score": 1.0, "number": 1.0, "number/steps": 3.0, "number/lowest": 1.0}


def test_the_steps_of_an_episode_are_one_number(tmp_path: Path) -> None:
    module = compiled_rewards(tmp_path, [builtin("step_rewards", args={"combine": "sum", "discount": 0.5})])
    assert score(module, turn_scores=[1.0, 1.0], tool_rewards=[])["step_rewards"] == 1.5
    assert score(module, turn_scores=[], tool_rewards=[4.0])["step_rewards"] == 4.0
    with pytest.raises(RuntimeError, match="the agent loop passed no step_rewards or turn_scores or tool_rewards"):
        score(module)


async def together(module: Any, responses: list[str]) -> list[dict[str, Any]]:
    return await asyncio.gather(*(module.compute_score_async("sums", text, "2", {}) for text in responses))


def test_a_batched_function_gets_lists_and_each_sample_its_own_score(tmp_path: Path) -> None:
    module = compiled_rewards(tmp_path, [part("sizes", batch=4)], CODE)
    results = asyncio.run(together(module, ["a" * size for size in range(10)]))
    assert [result["sizes"] for result in results] == list(range(10))
    assert sorted(calls()) == [2, 4, 4]


def test_a_batch_of_the_wrong_length_is_an_error_of_every_sample(tmp_path: Path) -> None:
    module = compiled_rewards(tmp_path, [part("too_few", batch=4, on_error=-1.0)], CODE)
    results = asyncio.run(together(module, ["a", "b", "c"]))
    assert [result["too_few/errors"] for result in results] == [1.0] * 3


def test_an_async_batch(tmp_path: Path) -> None:
    module = compiled_rewards(tmp_path, [part("many", batch=2)], CODE)
    assert [result["score"] for result in asyncio.run(together(module, ["a"] * 5))] == [1.0] * 5


@pytest.mark.parametrize("function", ["slow", "blocking"])
def test_slow_parts_run_at_once_and_keep_no_loop_waiting(tmp_path: Path, function: str) -> None:
    module = compiled_rewards(tmp_path, [part(function)], CODE)

    async def with_clock() -> tuple[float, int]:
        ticks, started = 0, time.perf_counter()
        scores = asyncio.ensure_future(together(module, ["a"] * 20))
        while not scores.done():
            await asyncio.sleep(0.01)
            ticks += 1
        await scores
        return time.perf_counter() - started, ticks

    seconds, ticks = asyncio.run(with_clock())
    assert seconds < 0.5 * 20 * 0.3
    assert ticks > 5


def test_concurrency_is_a_limit(tmp_path: Path) -> None:
    module = compiled_rewards(tmp_path, [part("slow", concurrency=1)], CODE)
    started = time.perf_counter()
    asyncio.run(together(module, ["a"] * 4))
    assert time.perf_counter() - started >= 4 * 0.3


def test_the_function_can_be_sent_to_another_process(tmp_path: Path) -> None:
    module = compiled_rewards(tmp_path, [part("right")], CODE)
    sent = ray.cloudpickle.loads(ray.cloudpickle.dumps(module.compute_score))
    assert sent("sums", "2", "2", {})["score"] == 1.0
