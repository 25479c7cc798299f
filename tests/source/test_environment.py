from __future__ import annotations

import pytest

from orbiter_spec.source import read
from tests.source.helpers import data, document, marked, mistake, mistakes, spot

ENVIRON = {
    "NODES": "4",
    "NAME": "math",
    "RATE": "1e-6",
    "ON": "on",
    "EMPTY": "",
    "SELF": "${env:NAME}",
    "ODD": "a\udcff",
}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("${env:NODES}", 4),
        ("'${env:NODES}'", "4"),
        ("${env:RATE}", 1e-6),
        ("${env:ON}", "on"),
        ("${env:EMPTY}", None),
        ("runs/${env:NAME}-${env:NODES}", "runs/math-4"),
        ("${env:NODES}${env:NODES}", "44"),
        ("${env:NOPE,8}", 8),
        ("${env:NOPE, x y }", "x y"),
        ("${env:NOPE,}", None),
        ("${env:NOPE,a,b}", "a,b"),
        ("$${env:NAME}", "${env:NAME}"),
        ("${env:SELF}", "${env:NAME}"),
        ("${other} $5 {env:NAME}", "${other} $5 {env:NAME}"),
        ("|\n  at ${env:NAME}", "at math"),
    ],
)
def test_values_are_filled_in_and_typed(written: str, value: object) -> None:
    found = data(f"a: {written}", environ=ENVIRON)["a"]
    assert found == value
    assert type(found) is type(value)


def test_keys_are_left_alone() -> None:
    assert data("${env:NAME}: 1", environ=ENVIRON) == {"${env:NAME}": 1}


@pytest.mark.parametrize("written", ["${env:NAMES}", "'say ${env:NAMES}!'", "|\n    one\n    two ${env:NAMES}"])
def test_missing_variable_is_shown_where_it_is_written(written: str) -> None:
    found = mistake(f"a:\n  b: {written}\n", environ=ENVIRON)
    assert found.id == "ORB011"
    assert marked(found.place) == "${env:NAMES}"
    assert "did you mean NAME?" in found.help


def test_every_missing_variable_is_reported() -> None:
    found = mistakes("a: ${env:ONE} ${env:TWO}\nb: [{c: '${env:THREE}'}]")
    assert sorted(spot(problem.place) for problem in found) == [(1, 4), (1, 15), (2, 10)]


@pytest.mark.parametrize("written", ["${env:}", "${env:A B}", "${env:1A}", "${env:NAME"])
def test_what_is_no_interpolation(written: str) -> None:
    assert mistake(f"a: {written}", environ=ENVIRON).id == "ORB011"


def test_what_a_variable_holds_is_checked_like_what_is_written() -> None:
    found = mistake("a: ${env:BAD}", environ={"BAD": ".inf"})
    assert found.id == "ORB024"
    assert marked(found.place) == "${env:BAD}"
    assert mistake("a: x${env:ODD}", environ=ENVIRON).id == "ORB023"


def test_overridden_values_need_no_variable() -> None:
    assert data("a: ${env:NOPE}", sets=["a=1"]) == {"a": 1}


def test_set_reads_the_environment_too() -> None:
    assert data("a: 1", sets=["a=${env:NODES}"], environ=ENVIRON) == {"a": 4}
    found = mistake("a: 1", sets=["a=x-${env:NOPE}"])
    assert found.place is not None
    assert (found.place.file, marked(found.place)) == ("--set", "${env:NOPE}")


def test_value_that_could_not_be_filled_is_a_fault() -> None:
    found, _ = read(None, text="a: {b: ok, c: '${env:NOPE}', d: .nan}\ne: [!x {}]", environ={})
    assert found is not None
    assert found.faults() == {("a", "c"), ("a", "d"), ("e", 0)}
    assert document("a: 1").faults() == frozenset()
