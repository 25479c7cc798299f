"""The reward function of a run, loaded from a compiled folder the way verl loads it: by path, outside sys.modules."""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from orbiter_spec.runtime.reward_library import scoring as source
from orbiter_spec.runtime.reward_library.signature import CONTEXT_NAMES as FILLED
from orbiter_spec.runtime.reward_library.signature import VERL_NAMES
from orbiter_spec.spec.builtin_rewards import CONTEXT_NAMES
from tests.runtime.conftest import copy_reward_path

Load = Callable[..., ModuleType]

CODE = """
import math
from dataclasses import dataclass
import reward_helpers_of_test as helpers

@dataclass
class Config:
    size: "int" = 1

def simple(response, expected): return float(response == expected)
def integer(output, ground_truth): return len(output)
def boolean(solution_str): return solution_str != ""
def scaled(response, *, scale=1.0): return helpers.twice(scale)
def open_args(response, **args): return len(args) + args["one"]
def fields(row, prompt, extra_info): return row["level"] + len(prompt) + (extra_info["level"] == row["level"])
def verl_style(data_source, solution_str, ground_truth, extra_info=None, **kwargs):
    return {"score": 0.5, "length": len(solution_str), "kind": "text", "weird": [1], "nan": math.nan, "flag": True}
async def slow(response):
    import asyncio
    await asyncio.sleep(0)
    return id(asyncio.get_running_loop())
def typed(expected): return float(isinstance(expected, int))
def first_only(response, /, expected): return float(response == expected)
def raises(response): raise KeyError("no\\nsuch\\nkey")
def nothing(response): return None
def text(response): return "1.0"
def nan(response): return math.nan
def infinite(response): return -math.inf
def no_score(response): return {"acc": 1}
def numpy_like(response):
    import numpy
    return numpy.float32(0.5)
def unfilled(completion): return 1.0
"""


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    """Compile a folder with the given parts and load its reward.py."""
    known, path = set(sys.modules), list(sys.path)

    def loaded(*parts: dict[str, Any], code: str = CODE) -> ModuleType:
        (tmp_path / "code").mkdir(exist_ok=True)
        (tmp_path / "code" / "rewards_of_test.py").write_text(code)
        (tmp_path / "code" / "reward_helpers_of_test.py").write_text("def twice(x): return 2 * x\n")
        copy_reward_path(tmp_path)
        forget_library()
        (tmp_path / "rewards.json").write_text(json.dumps({"version": 1, "rewards": parts}))
        spec = importlib.util.spec_from_file_location("loaded_by_path", tmp_path / "reward.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield loaded
    sys.path[:] = path
    forget_library()
    for name in set(sys.modules) - known:
        if "of_test" in name or name.startswith("orbiter_reward"):
            del sys.modules[name]


def forget_library() -> None:
    for name in [name for name in sys.modules if name.startswith("orbiter_reward_library")]:
        del sys.modules[name]


def part(function: str, **changes: Any) -> dict[str, Any]:
    item = {"name": function, "weight": 1.0, "kind": "function", "path": "code/rewards_of_test.py", "module": None}
    return {**item, "function": function, "args": {}, "on_error": "stop", **changes}


def builtin(function: str, **changes: Any) -> dict[str, Any]:
    return part(function, kind="builtin", path=None, **changes)


INFO = {
    "index": 7,
    "split": "train",
    "source": "data/sums.jsonl",
    "row": 8,
    "prompt": "1+1?",
    "expected": "2",
    "fields": '{"question": "1+1?", "answer": 2, "level": 3}',
}


def score(
    module: ModuleType, response: str = "2", truth: str = "2", info: dict[str, Any] | None = None
) -> dict[str, Any]:
    result: dict[str, Any] = module.compute_score(
        data_source="sums", solution_str=response, ground_truth=truth, extra_info=dict(INFO if info is None else info)
    )
    return result


def test_the_total_is_weighted_and_every_part_is_named(load: Load) -> None:
    module = load(
        part("simple", weight=0.8, name="correct"),
        builtin("length_penalty", weight=0.2, args={"target": 2}),
        builtin("exact_match", weight=0.0, name="shown"),
    )
    result = score(module, "three", "three", {})
    assert result == {"score": pytest.approx(0.8 - 0.2), "correct": 1.0, "length_penalty": -1.0, "shown": 1.0}


@pytest.mark.parametrize(
    ("function", "args", "value"),
    [
        ("integer", {}, 1.0),
        ("boolean", {}, 1.0),
        ("scaled", {}, 2.0),
        ("scaled", {"scale": 3.0}, 6.0),
        ("open_args", {"one": 5, "two": 6}, 7.0),
        ("fields", {}, 8.0),
        ("typed", {}, 1.0),
        ("numpy_like", {}, 0.5),
    ],
)
def test_every_signature_and_result_is_taken(load: Load, function: str, args: dict[str, Any], value: float) -> None:
    result = score(load(part(function, args=args)))
    assert result == {"score": value, function: value}
    assert all(type(number) is float for number in result.values())


def test_positional_only_parameters_are_filled(load: Load) -> None:
    assert score(load(part("first_only")), "2", "2", {})["score"] == 1.0


def test_a_verl_function_keeps_what_it_reports(load: Load) -> None:
    assert score(load(part("verl_style", name="v"))) == {
        "score": 0.5,
        "v": 0.5,
        "v/length": 1.0,
        "v/kind": "text",
        "v/weird": "[1]",
        "v/nan": None,
        "v/flag": 1.0,
    }


def test_coroutines_share_one_loop_between_threads(load: Load) -> None:
    module = load(part("slow"))
    with ThreadPoolExecutor(4) as pool:
        loops = set(pool.map(lambda _: score(module)["slow"], range(20)))
    assert len(loops) == 1
    assert "orbiter-rewards" in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("raises", "raised KeyError: 'no\\nsuch\\nkey'"),
        ("nothing", "returned None, which is not a number"),
        ("text", "returned '1.0', which is not a number"),
        ("nan", "returned nan, which is not a finite number"),
        ("infinite", "returned -inf, which is not a finite number"),
        ("no_score", "returned a mapping without score: ['acc']"),
    ],
)
def test_a_failure_stops_the_run_and_names_reward_and_row(
    load: Load, capfd: pytest.CaptureFixture[str], function: str, said: str
) -> None:
    module = load(part("simple"), part(function, name="bad"))
    with pytest.raises(RuntimeError) as caught:
        score(module)
    message = str(caught.value)
    where = "failed on sample 7 (data/sums.jsonl row 8, split train): "
    line = " (rewards_of_test.py:24 in raises)" if function == "raises" else ""
    assert message == f"orbiter-spec: reward 'bad' (code/rewards_of_test.py:{function}) {where}{said}{line}"
    assert message in capfd.readouterr().err.splitlines()


@pytest.mark.parametrize("function", ["raises", "nothing", "nan"])
def test_a_failure_may_count_as_a_number_and_is_counted(
    load: Load, capfd: pytest.CaptureFixture[str], function: str
) -> None:
    module = load(part(function, name="bad", weight=2.0, on_error=-1.0), part("simple"))
    for _ in range(10):
        assert score(module, "a", "a", {}) == {"score": -1.0, "bad": -1.0, "bad/errors": 1.0, "simple": 1.0}
    shown = [line for line in capfd.readouterr().err.splitlines() if line.startswith("orbiter-spec:")]
    assert len(shown) == source.SHOWN_FAILURES


def test_a_part_that_may_fail_always_reports_its_errors(load: Load) -> None:
    assert score(load(part("simple", on_error=0)), "a", "b", {}) == {"score": 0.0, "simple": 0.0, "simple/errors": 0.0}


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (part("missing"), "there is no function 'missing'"),
        (part("unfilled"), "parameter 'completion' has no value; give it under args, or use one of response,"),
        (part("simple", args={"strict": True}), "args has strict, which the function does not take"),
        (part("simple", path="code/none.py"), "FileNotFoundError"),
        (part("simple", path=None, module="no_such_module"), "ModuleNotFoundError: No module named 'no_such_module'"),
        (builtin("exact"), "there is no function 'exact'"),
        (builtin("regex"), "parameter 'pattern' has no value"),
        (builtin("regex", args={"pattern": "("}), "pattern '(' is no regular expression"),
        (builtin("regex", args={"pattern": "(a)", "group": 2}), "group is 2, and the pattern has 1"),
        (builtin("length_penalty", args={"target": 0}), "target is 0, and must be at least 1"),
        (builtin("length_penalty", args={"target": 5, "unit": "tokens"}), "unit is 'tokens', and must be one of"),
        (builtin("character_share", args={"kind": "vowels"}), "kind is 'vowels', and must be one of"),
        (builtin("character_share", args={"kind": "custom"}), "kind is custom, and custom names no character"),
    ],
    ids=lambda value: value["function"] if isinstance(value, dict) else "",
)
def test_a_part_that_cannot_be_loaded_ends_the_run_before_the_first_prompt(
    load: Load, capfd: pytest.CaptureFixture[str], item: dict[str, Any], said: str
) -> None:
    with pytest.raises(RuntimeError) as caught:
        load(item)
    assert str(caught.value).startswith(f"orbiter-spec: reward '{item['name']}' (")
    assert f"cannot be loaded: {said}" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value) in capfd.readouterr().err


def test_an_error_while_a_file_is_loaded_is_named(load: Load) -> None:
    with pytest.raises(RuntimeError, match="cannot be loaded: ZeroDivisionError: division by zero"):
        load(part("simple"), code="1 / 0")


def test_a_file_is_run_once_however_many_parts_and_neighbours_use_it(load: Load) -> None:
    code = CODE + "\nimport builtins\nbuiltins.runs_of_test = getattr(builtins, 'runs_of_test', 0) + 1\n"
    load(part("simple"), part("boolean"), code=code)
    import builtins

    assert builtins.runs_of_test == 1  # type: ignore[attr-defined]
    del builtins.runs_of_test  # type: ignore[attr-defined]


def test_a_user_file_hides_no_module_of_the_standard_library(load: Load, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "json.py").write_text("def f(response): return 3.0\n")
    module = load(part("f", path="code/json.py"), part("simple"))
    assert score(module)["f"] == 3.0
    assert json.loads("1") == 1


def test_neighbours_of_the_same_name_in_two_folders_are_refused(load: Load, tmp_path: Path) -> None:
    second = tmp_path / "code" / "2"
    second.mkdir(parents=True)
    (second / "rewards_of_test.py").write_text("def f(response): return 4.0\n")
    other = part("f", path="code/2/rewards_of_test.py")
    assert score(load(part("boolean"), other)) == {"score": 5.0, "boolean": 1.0, "f": 4.0}
    (second / "reward_helpers_of_test.py").write_text("")
    with pytest.raises(
        RuntimeError, match=r"two folders of rewards have a reward_helpers_of_test\.py that is imported"
    ):
        load(part("simple"), other)


def test_rows_that_orbiter_did_not_build_are_passed_on(load: Load) -> None:
    module = load(
        part("take"), code="def take(row, expected, extra_info): return float(row is extra_info and row['a'] == 1)"
    )
    assert score(module, "x", "y", {"a": 1, "expected": "not json"})["score"] == 1.0


def test_names_that_samples_fill_are_those_of_the_table() -> None:
    assert (*FILLED, *VERL_NAMES) == CONTEXT_NAMES
