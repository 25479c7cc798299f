"""Built-ins that look at the form of a response, and those that need an optional library."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from orbiter_spec.runtime.reward_library import formats
from orbiter_spec.runtime.reward_library.formats import (
    format_tags,
    json_schema,
    language,
    multiple_choice,
    repetition_penalty,
    similarity,
)


@pytest.mark.parametrize(
    ("response", "expected", "score"),
    [
        ("B", "B", 1.0),
        ("(b)", "b", 0.0),  # a lone lower-case letter is an article as often as an answer
        ("The answer is B.", "B", 1.0),
        ("The answer is b.", "B", 1.0),
        ("Answer: **C**", "C", 1.0),
        ("I think A, but then (D)", "D", 1.0),
        (r"so \boxed{A}, not B", "A", 1.0),
        (r"\boxed{\text{(C)}}", "C", 1.0),
        ("A bad idea. Answer: B", "B", 1.0),
        ("nothing of that", "A", 0.0),
        ("", "A", 0.0),
        ("B", 1, 1.0),
        ("It is C", 2, 1.0),
        ("E", "A", 0.0),
    ],
)
def test_multiple_choice(response: str, expected: Any, score: float) -> None:
    assert multiple_choice(response, expected) == score


@pytest.mark.parametrize("expected", ["F", "AB", "", None])
def test_an_expected_letter_that_is_no_choice_is_an_error(expected: Any) -> None:
    with pytest.raises(ValueError, match="expected value"):
        multiple_choice("A", expected)


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


@pytest.mark.parametrize(
    ("response", "score"),
    [
        ('{"a": 1}', 1.0),
        ('{"a": "1"}', 0.0),
        ("{}", 0.0),
        ('Here:\n```json\n{"a": 2}\n```\n', 1.0),
        ('```\n{"a": "x"}\n```\n```json\n{"a": 2}\n```', 1.0),
        ('{"a": 1} and more', 0.0),
        ("[" * 100_000, 0.0),
        ("", 0.0),
    ],
)
def test_json_schema(response: str, score: float) -> None:
    assert json_schema(response, {}, schema=SCHEMA) == score


def test_a_rows_own_schema_and_none_at_all() -> None:
    assert json_schema('{"a": 1}', {"shape": SCHEMA}, column="shape") == 1.0
    assert json_schema("[]", {"shape": '{"type": "object"}'}, column="shape") == 0.0
    assert json_schema("[]", {}) == 1.0
    with pytest.raises(ValueError, match="the row has no shape"):
        json_schema("[]", {}, column="shape")
    with pytest.raises(ValueError, match="schema is no JSON Schema"):
        json_schema("[]", {}, schema={"type": "thing"})


@pytest.mark.parametrize("metric", formats.SIMILARITIES)
def test_similarity_is_one_for_equal_texts_and_small_for_others(metric: str) -> None:
    pytest.importorskip("rapidfuzz")
    assert similarity("the cat", "the cat", metric=metric) == 1.0
    assert similarity("#### The Cat", "the cat", metric=metric, marker="####", ignore_case=True) == 1.0
    assert similarity("zzzz", "the cat", metric=metric) < 0.2


@pytest.mark.parametrize(
    ("response", "args", "score"),
    [
        ("<think>a</think><answer>b</answer>", {}, 1.0),
        ("<think>a</think> text\n<answer>b</answer>", {}, 1.0),
        ("<think>a</think> text\n<answer>b</answer>", {"strict": True}, 0.0),
        (" <think>a</think>\n<answer>b</answer>\n", {"strict": True}, 1.0),
        ("<answer>b</answer><think>a</think>", {}, 0.0),
        ("<think></think><answer>b</answer>", {}, 0.0),
        ("<think>a</think><answer>b</answer><answer>c</answer>", {}, 0.0),
        ("<think>a</think>", {}, 0.0),
        ("<think>a</think>", {"partial": True}, 0.25),
        ("<think>a<think></think><answer>b</answer>", {}, 0.0),
        ("", {"partial": True}, 0.0),
    ],
)
def test_format_tags(response: str, args: dict[str, Any], score: float) -> None:
    assert format_tags(response, tags=["think", "answer"], **args) == score


def test_format_tags_takes_no_time_over_hostile_text() -> None:
    for text in ("<think>" * 5_000, "<think>" + "<" * 50_000, "</think>" * 5_000, "x" * 200_000):
        assert format_tags(text, tags=["think", "answer"]) == 0.0


@pytest.mark.parametrize(
    ("response", "args", "score"),
    [
        ("one two three four five", {}, 0.0),
        ("a a a a a", {"ngram": 1}, 1 / 5 - 1),
        ("abab", {"ngram": 2, "unit": "characters"}, 2 / 3 - 1),
        ("short", {}, 0.0),
        ("", {}, 0.0),
    ],
)
def test_repetition_penalty(response: str, args: dict[str, Any], score: float) -> None:
    assert repetition_penalty(response, **args) == pytest.approx(score)


def test_language() -> None:
    pytest.importorskip("py3langid")
    english, german = "The weather is very nice today.", "Das Wetter ist heute sehr schön und warm."
    assert language(english, code="en") == language(german, code="de") == 1.0
    assert language(german, code="en") == 0.0
    assert language("Yes.", code="en") == 0.0
    with pytest.raises(ValueError, match="code is 'klingon', and must be one of"):
        language(english, code="klingon")


@pytest.mark.parametrize(
    ("function", "args", "package"),
    [
        (similarity, ("a", "b"), "rapidfuzz"),
        (language, ("a",), "py3langid"),
        (json_schema, ("{}", {}), "jsonschema"),
    ],
)
def test_a_missing_library_is_named(
    monkeypatch: pytest.MonkeyPatch, function: Any, args: tuple[Any, ...], package: str
) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(importlib, "import_module", missing)
    formats._languages.cache_clear()
    formats._validator.cache_clear()
    keywords: dict[str, Any] = {"language": {"code": "en"}, "json_schema": {"schema": {}}}.get(function.__name__, {})
    with pytest.raises(
        ValueError, match=f"{function.__name__} needs {package}, which is not installed: pip install {package}"
    ):
        function(*args, **keywords)
