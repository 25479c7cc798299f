"""Settings into trees."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import pytest

from orbiter_spec.lower.tree import plain, put, same


class Word(StrEnum):
    ONE = "one"


def test_values_become_plain_data() -> None:
    found = plain({"a": (1, Word.ONE), Word.ONE: {"b": True}})
    assert same(found, {"a": [1, "one"], "one": {"b": True}})
    assert type(found["a"][1]) is str


def test_other_objects_are_refused() -> None:
    with pytest.raises(TypeError, match="Path"):
        plain({"a": Path("x")})


def test_a_setting_is_not_shared_with_the_tree() -> None:
    value = {"x": [1]}
    root: dict[str, object] = {}
    put(root, "a", value)
    put(root, "a.x.0", 2)
    assert value == {"x": [1]}
    assert root == {"a": {"x": [2]}}


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, False),
        (1, True, False),
        ("1", 1, False),
        ([1], [1], True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": None}, {}, False),
        (float("nan"), float("nan"), True),
        ([1], [1, 2], False),
        ({"a": 0}, {"a": False}, False),
    ],
)
def test_same(one: object, other: object, equal: bool) -> None:
    assert same(one, other) is equal
