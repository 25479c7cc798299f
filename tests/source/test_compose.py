"""Bounds: what is too deep, too large or turns in a circle is refused, and quickly."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from orbiter_spec.source.limits import MAX_DEPTH, MAX_FINDINGS, MAX_LINE, MAX_NODES
from tests.source.helpers import data, marked, mistake, mistakes, spot

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 10)
)


def test_alias_bomb_is_refused_where_it_grows_too_big() -> None:
    tracemalloc.start()
    start = time.perf_counter()
    found = mistake(BOMB)
    assert time.perf_counter() - start < 1
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    assert found.id == "ORB007"
    assert spot(found.place) == (6, 5)


def test_chain_of_aliases_cannot_go_deeper_than_brackets() -> None:
    chain = "a0: &a0 [x]\n" + "".join(f"a{level}: &a{level} [*a{level - 1}]\n" for level in range(1, 2000))
    assert mistake(chain).id == "ORB007"


def test_merge_bomb() -> None:
    text = "a0: &a0 {x: 1}\n" + "".join(
        f"a{level}: &a{level} {{<<: [*a{level - 1}, *a{level - 1}], y{level}: *a{level - 1}}}\n"
        for level in range(1, 40)
    )
    assert mistake(text).id == "ORB007"


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: {c: *a}}"])
def test_alias_inside_itself(text: str) -> None:
    found = mistake(text)
    assert found.id == "ORB007"
    assert marked(found.place) == "*a"


def test_alias_without_anchor_suggests() -> None:
    assert "*model" in mistake("a: &model 1\nb: *modle").help
    assert '"*.json"' in mistake("a: *.json").help


def test_aliases_give_separate_values() -> None:
    found = data("a: &a {b: [1]}\nc: *a\nd: &a 2\ne: *a")
    assert found == {"a": {"b": [1]}, "c": {"b": [1]}, "d": 2, "e": 2}
    assert found["a"]["b"] is not found["c"]["b"]


@pytest.mark.parametrize(
    "text",
    [
        "[" * MAX_LINE,
        "{" * MAX_LINE,
        "[\n" * 100_000,
        "- " * 40_000,
        "? " * 40_000,
        "{a: " * 20_000,
        "".join(" " * depth + "a:\n" for depth in range(400)),
    ],
)
def test_deep_nesting_is_refused_at_once(text: str) -> None:
    start = time.perf_counter()
    found = mistake(text)
    assert found.id == "ORB007"
    assert found.message == f"nested deeper than {MAX_DEPTH} levels"
    assert time.perf_counter() - start < 1


def test_deepest_nesting_is_read() -> None:
    depth = MAX_DEPTH - 1
    assert data("a: " + "[" * depth + "]" * depth)


def test_number_of_values_and_of_mistakes_is_bounded() -> None:
    assert mistake("- 1\n" * (MAX_NODES + 1)).id == "ORB004"
    assert len(mistakes("- !x 1\n" * 5000)) == MAX_FINDINGS


@pytest.mark.parametrize("tag", ["!!python/object:os.system", "!!python/object/apply:os.system", "!x", "!!int", "!<x>"])
def test_tags_are_refused_where_they_stand(tag: str) -> None:
    for text in (f"a: {tag} x", f"a: {tag} [x]", f"a: {tag} {{x: 1}}"):
        found = mistake(text)
        assert found.id == "ORB008"
        assert marked(found.place) == tag


def test_tags_that_change_nothing_are_read() -> None:
    assert data("a: !!str 5\nb: !!map {a: 1}\nc: !!seq [1]\nd: ! 5") == {"a": "5", "b": {"a": 1}, "c": [1], "d": "5"}


def test_one_document_of_yaml_1_2() -> None:
    assert data("%YAML 1.2\n---\na: on\n...\n") == {"a": "on"}
    assert mistake("%YAML 1.1\n---\na: on").id == "ORB005"
    assert spot(mistake("a: 1\n---\nb: 1").place) == (2, 1)


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "---\n", "~", "null", "--- ~\n"])
def test_empty_file(text: str) -> None:
    found = mistake(text)
    assert (found.id, found.message) == ("ORB009", "file is empty")


@pytest.mark.parametrize(
    ("text", "kind"), [("[1]", "a list"), ("x", "a string"), ("3", "a whole number"), ('""', "a string")]
)
def test_root_is_a_mapping(text: str, kind: str) -> None:
    found = mistake(text)
    assert found.id == "ORB009"
    assert kind in found.message
