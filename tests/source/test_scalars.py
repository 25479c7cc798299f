from __future__ import annotations

import math

import pytest

from orbiter_spec.source.scalars import fault, resolve, stand_in
from tests.source.helpers import data, marked, mistake


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("Null", None),
        ("true", True),
        ("FALSE", False),
        ("on", "on"),
        ("yes", "yes"),
        ("0", 0),
        ("+12", 12),
        ("-7", -7),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("0b1", "0b1"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2001-01-01", "2001-01-01"),
        ("1e-6", 1e-6),
        ("1.", 1.0),
        (".5", 0.5),
        ("+1.5E3", 1500.0),
        ("1e", "1e"),
        (".", "."),
        ("-", "-"),
        ("0.9.1", "0.9.1"),
        ("nan", "nan"),
        ("٣", "٣"),
    ],
)
def test_plain_scalars_follow_the_core_schema(text: str, value: object) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)


def test_quotes_and_blocks_mean_strings() -> None:
    assert data("a: '1'\nb: \"true\"\nc: |\n  1\nd: !!str 1\n") == {"a": "1", "b": "true", "c": "1\n", "d": "1"}


@pytest.mark.parametrize("text", [".nan", ".inf", "-.INF", "1e999", "-1e999", "9" * 5000, "0x" + "f" * 5000])
def test_number_that_is_not_finite_is_shown(text: str) -> None:
    found = mistake(f"a:\n  learning_rate: {text}\n")
    assert found.id == "ORB024"
    assert marked(found.place) == text


def test_number_beyond_64_bits_is_shown() -> None:
    assert mistake("a: 9223372036854775808").id == "ORB023"
    assert data("a: -9223372036854775807") == {"a": -9223372036854775807}


@pytest.mark.parametrize("text", [r'"\0"', r'"\ud800"'])
def test_string_that_no_file_can_hold_is_shown(text: str) -> None:
    found = mistake(f"a: {text}")
    assert found.id == "ORB023"
    assert marked(found.place) == text


@pytest.mark.parametrize("value", [math.nan, -math.inf, 1 << 80, "a\0b", "\ud800"])
def test_stand_in_has_the_type_and_no_fault(value: str | int | float) -> None:
    assert fault(value) is not None
    assert fault(stand_in(value)) is None
    assert type(stand_in(value)) is type(value)
