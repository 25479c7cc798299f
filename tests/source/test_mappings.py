from __future__ import annotations

import pytest

from orbiter_spec.source import read
from tests.source.helpers import data, document, marked, mistake, mistakes, spot


def test_every_duplicate_is_shown_with_the_first() -> None:
    found = mistakes("a: 1\nb: {c: 1, c: 2}\na: 2\n'a': 3\n")
    assert [problem.id for problem in found] == ["ORB006"] * 3
    assert [spot(problem.place) for problem in found] == [(2, 11), (3, 1), (4, 1)]
    assert [spot(problem.related[0].place) for problem in found] == [(2, 5), (1, 1), (1, 1)]


def test_first_of_two_stays_and_the_document_comes_with_the_error() -> None:
    found_document, found = read(None, text="a: 1\na: 2\nb: 3")
    assert [problem.id for problem in found] == ["ORB006"]
    assert found_document is not None
    assert found_document.data == {"a": 1, "b": 3}


@pytest.mark.parametrize("key", ["1", "1.5", "true", "~", "[a]", "{a: 1}"])
def test_key_is_a_string(key: str) -> None:
    found = mistake(f"? {key}\n: 1\nb: 2")
    assert found.id == "ORB021"
    assert marked(found.place) == key


def test_empty_key() -> None:
    assert mistake(": 1").message == "key is empty"


@pytest.mark.parametrize("key", ["on", '"1"', "no", "a b", "~a"])
def test_words_are_keys(key: str) -> None:
    assert data(f"{key}: 1") == {key.strip('"'): 1}


def test_template_without_quotes() -> None:
    found = mistake("agent:\n  prompt: {{ question }}\n")
    assert found.message == "template is not quoted"
    assert marked(found.place) == "{{ question }}"
    assert found.help == 'quote it: "{{ question }}"'


def test_merge_keys_bring_in_what_is_missing() -> None:
    text = "x: &x {a: 1, b: 2}\ny: &y {b: 3, c: 4}\nz:\n  b: 0\n  <<: [*x, *y]\nw: {<<: *x}\n"
    found = document(text)
    assert found.data["z"] == {"b": 0, "a": 1, "c": 4}
    assert found.data["w"] == {"a": 1, "b": 2}
    assert spot(found.place(("z", "c"))) == (2, 17)


def test_merge_of_what_is_no_mapping() -> None:
    found = mistake("a: {<<: [{b: 1}, 2], c: 1}")
    assert found.id == "ORB021"
    assert marked(found.place) == "2"
    assert mistake("<<: {a: 1}\n<<: {b: 1}").id == "ORB006"
    assert data('a: {"<<": 1}') == {"a": {"<<": 1}}
