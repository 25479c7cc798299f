"""References are resolved, values never stay in what is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orbiter_spec.launch.secrets import Scrubber, SecretMissingError, passed_environment, resolve_secrets


def test_a_secret_comes_from_its_own_variable_another_one_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from-a-file\n", encoding="utf-8")
    references = {"A_KEY": {}, "B_KEY": {"environment": "OTHER"}, "C_KEY": {"file": str(tmp_path / "key")}}
    found = resolve_secrets(references, {"A_KEY": "own-value", "OTHER": "other-value"})
    assert found == {"A_KEY": "own-value", "B_KEY": "other-value", "C_KEY": "from-a-file"}


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ({}, "the secret KEY is read from the variable KEY, which is not set"),
        ({"environment": "OTHER"}, "the secret KEY is read from the variable OTHER, which is not set"),
        ({"file": "/nowhere/key"}, "the secret KEY is read from /nowhere/key, which cannot be read"),
    ],
)
def test_a_reference_that_leads_nowhere_says_where_it_looked(reference, message) -> None:
    with pytest.raises(SecretMissingError, match=message):
        resolve_secrets({"KEY": reference}, {})


def test_values_are_replaced_in_every_spelling() -> None:
    scrubber = Scrubber.of({"KEY": 'pa"ss/word', "LONG": 'pa"ss/word-and-more', "PEM": "-----BEGIN-----\nMIIBVgIB\n"})
    text = (
        f'plain pa"ss/word, json {json.dumps("pa" + chr(34) + "ss/word")}, url pa%22ss%2Fword, long pa"ss/word-and-more'
    )
    cleaned = scrubber.clean(f"{text}\nMIIBVgIB".encode()).decode()
    assert cleaned == 'plain ***KEY***, json "***KEY***", url ***KEY***, long ***LONG***\n***PEM***'


def test_short_values_would_blacken_everything_and_are_left() -> None:
    assert Scrubber.of({"KEY": "abc"}).clean(b"abc abc") == b"abc abc"


def test_variables_are_passed_by_name_or_set() -> None:
    assert passed_environment(["A", "B=2", "C", "D="], {"A": "1"}) == {"A": "1", "B": "2", "D": ""}
