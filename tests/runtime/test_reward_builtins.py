"""Built-in rewards: what they score, and that the table which the schema uses tells the truth about them."""

from __future__ import annotations

import collections.abc
import inspect
import subprocess
import sys
import time
import types
from typing import Any, Union, get_args, get_origin

import pytest

from orbiter_spec.runtime.reward_library import maths
from orbiter_spec.runtime.reward_library.builtins import FUNCTIONS
from orbiter_spec.runtime.reward_library.maths import numeric_match
from orbiter_spec.runtime.reward_library.texts import character_share, exact_match, length_penalty, regex
from orbiter_spec.spec.builtin_rewards import BUILTINS, REQUIRED


def annotated(annotation: Any) -> Any:
    """The plain type of a parameter: `list[str]` is a list, an optional mapping a dict."""
    options = [option for option in (get_args(annotation) or ()) if option is not type(None)]
    annotation = options[0] if get_origin(annotation) in (types.UnionType, Union) else annotation
    return {collections.abc.Mapping: dict}.get(get_origin(annotation), get_origin(annotation) or annotation)


@pytest.mark.parametrize("name", sorted({*BUILTINS, *FUNCTIONS}))
def test_the_table_equals_the_signatures(name: str) -> None:
    parameters = inspect.signature(FUNCTIONS[name], eval_str=True).parameters.values()
    by_keyword = {item.name: item for item in parameters if item.kind is item.KEYWORD_ONLY}
    described = BUILTINS[name].arguments
    assert list(described) == list(by_keyword)
    for key, item in by_keyword.items():
        assert annotated(item.annotation) is described[key].type
        assert described[key].default == (REQUIRED if item.default is item.empty else item.default)
        assert described[key].description.endswith(".")


@pytest.mark.parametrize(
    ("response", "expected", "args", "score"),
    [
        (" 42\n", "42", {}, 1.0),
        ("42", 42, {}, 1.0),
        ("42.", "42", {}, 0.0),
        ("Yes", "yes", {}, 0.0),
        ("Yes", "yes", {"ignore_case": True}, 1.0),
        ("so #### 4 #### 42", "because #### 42", {"marker": "####"}, 1.0),
        ("42", "because #### 42", {"marker": "####"}, 1.0),
        ("", "", {}, 1.0),
    ],
)
def test_exact_match(response: str, expected: object, args: dict[str, object], score: float) -> None:
    assert exact_match(response, expected, **args) == score  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("response", "args", "score"),
    [
        ("the answer is 7", {"pattern": r"\d"}, 1.0),
        ("none", {"pattern": r"\d"}, 0.0),
        ("<a>6</a> <a>7</a>", {"pattern": "<a>(.*?)</a>", "compare": True, "group": 1}, 1.0),
        ("<a>7</a> <a>6</a>", {"pattern": "<a>(.*?)</a>", "compare": True, "group": 1}, 0.0),
        ("X7", {"pattern": "x7", "ignore_case": True}, 1.0),
        ("a", {"pattern": "(7)|a", "compare": True, "group": 1}, 0.0),
    ],
)
def test_regex(response: str, args: dict[str, object], score: float) -> None:
    assert regex(response, "7", **args) == score  # type: ignore[arg-type]


@pytest.mark.parametrize(("length", "score"), [(0, 0.0), (10, 0.0), (15, -0.5), (20, -1.0), (500, -1.0)])
def test_length_penalty(length: int, score: float) -> None:
    assert length_penalty("x" * length, target=10) == score
    assert length_penalty("word " * length, target=10, unit="words") == score


@pytest.mark.parametrize(
    ("response", "args", "score"),
    [
        ("12ab", {}, 0.5),
        ("٣", {}, 0.0),
        ("aB1", {"kind": "letters"}, 2 / 3),
        ("aB1", {"kind": "uppercase"}, 1 / 3),
        ("a, b", {"kind": "punctuation"}, 0.25),
        ("a, b", {"kind": "whitespace"}, 0.25),
        ("abba", {"kind": "custom", "custom": "a"}, 0.5),
        ("", {}, 0.0),
    ],
)
def test_character_share(response: str, args: dict[str, str], score: float) -> None:
    assert character_share(response, **args) == pytest.approx(score)


@pytest.mark.parametrize("function", [exact_match, numeric_match])
def test_a_row_without_an_expected_value_is_an_error_and_not_zero(function: object) -> None:
    with pytest.raises(ValueError, match="the row has no expected value"):
        function("1", None)  # type: ignore[operator]


MATH = [
    ("18", "18", {}, 1.0),
    ("1,800", 1800, {}, 1.0),
    ("17", "18", {}, 0.0),
    ("", "18", {}, 0.0),
    ("no number here", "18", {}, 0.0),
    ("I think it is 18.0 in all", "18", {}, 1.0),
    (r"thus \boxed{\frac12}", "0.5", {}, 1.0),
    ("$x^2 + 2x$", r"$x(x+2)$", {}, 1.0),
    (r"$\frac{1}{2}$", r"\frac{1}{2}", {}, 1.0),
    ("about 3.1", "3.14", {"tolerance": 0.1}, 1.0),
    ("about 3.1", "3.14", {"tolerance": 0.01}, 0.0),
    ("3.1", "3.14", {"tolerance": 0.1}, 1.0),
    ("5 + 5 #### 10", "#### 10", {"marker": "####"}, 1.0),
]


@pytest.mark.parametrize(("response", "expected", "args", "score"), MATH)
def test_numeric_match(response: str, expected: object, args: dict[str, object], score: float) -> None:
    pytest.importorskip("math_verify")
    found = numeric_match(response, expected, timeout_seconds=60.0, **args)  # type: ignore[arg-type]
    assert found == {"score": score, "timeout": 0.0}


def test_an_expected_value_without_a_number_is_an_error() -> None:
    pytest.importorskip("math_verify")
    with pytest.raises(ValueError, match="the expected value 'many' holds no number or formula"):
        numeric_match("around 7", "many", timeout_seconds=60.0)


def test_a_formula_without_end_is_stopped_and_the_next_one_is_scored() -> None:
    pytest.importorskip("math_verify")
    numeric_match("it is 1", "2", timeout_seconds=60.0)
    started = time.monotonic()
    assert numeric_match("$9^{9^{9^{9}}}$", "18", timeout_seconds=1.0) == {"score": 0.0, "timeout": 1.0}
    assert time.monotonic() - started < 20
    assert numeric_match("it is 18", "18", timeout_seconds=60.0) == {"score": 1.0, "timeout": 0.0}


def test_without_math_verify_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maths.importlib.util, "find_spec", lambda name: None)
    maths._require_math_verify.cache_clear()
    with pytest.raises(ValueError, match="pip install math-verify"):
        numeric_match("1", "1")


def test_only_the_standard_library_is_loaded() -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "import orbiter_spec.runtime.reward, orbiter_spec.runtime.reward_library.builtins\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new - set(sys.stdlib_module_names) - {'orbiter_spec'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
