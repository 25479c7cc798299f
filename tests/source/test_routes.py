from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbiter_spec.source import format_route, parse_route


@pytest.mark.parametrize(
    ("text", "route"),
    [
        ("a", ("a",)),
        ("a.b[0].c", ("a", "b", 0, "c")),
        ("a.b.0.c", ("a", "b", 0, "c")),
        ('a["x.y"].z', ("a", "x.y", "z")),
        ('a["0"]', ("a", "0")),
        ("max-steps.b_c", ("max-steps", "b_c")),
    ],
)
def test_both_spellings_are_read(text: str, route: tuple[str | int, ...]) -> None:
    assert parse_route(text) == route


@pytest.mark.parametrize(
    "text", ["", ".", "a.", "a..b", "a[", "a[x]", "a[-1]", "[0]", "a b", "a.b[0]c", "a=b", 'a["x]']
)
def test_what_is_no_route_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="path"):
        parse_route(text)


@given(st.text(), st.lists(st.one_of(st.text(), st.integers(0, 999_999_999))))
def test_every_route_is_written_and_read_back(first: str, rest: list[str | int]) -> None:
    route = (first, *rest)
    assert parse_route(format_route(route)) == route


def test_formats_as_people_write() -> None:
    assert format_route(("rewards", 0, "weight")) == "rewards[0].weight"
    assert format_route(("verl", "overrides", "a.b")) == 'verl.overrides["a.b"]'
    assert format_route(()) == ""
