from __future__ import annotations

import pytest

from tests.source.helpers import marked, mistake, spot


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("a:\n\tb: 1", "a tab indents this line", (2, 1)),
        ("a:\n  b: 1\n \tc: 2", "a tab indents this line", (3, 2)),
        ("a:\tb", "a tab cannot stand here", (1, 3)),
        ("a: b: c", "a colon cannot stand here", (1, 5)),
        ("a: 1\n  b: 2", "a colon cannot stand here", (2, 4)),
        ("a: 1\nkey\nb: 2", "line is no `key: value`", (2, 1)),
        ("a:\n  b: 1\n c: 2", "line does not fit the lines above it", (3, 2)),
        ("a: [1, 2\nb: 3", "list is not closed or misses a comma", (2, 2)),
        ("a: {b: 1", "mapping is not closed or misses a comma", (1, 9)),
        ('a: 1\nb: "x\nc: 2', "quote is never closed", (2, 4)),
        ("a: 'x\n---\n", "quote is never closed", (1, 4)),
        ("a: 1\n}", "bracket closes nothing", (2, 1)),
        ('a: "x" y', "text follows the end of the value", (1, 8)),
        ("a: @x", "a plain value cannot start with this character", (1, 4)),
        (r'a: "\d"', "unknown escape in a double-quoted string", (1, 6)),
        (r'a: "\x1"', "escape in a double-quoted string is not finished", (1, 7)),
        (r'a: "\UFFFFFFFF"', "YAML cannot be read", (1, 7)),
        ("a: !y!z 3", "tag is not allowed", (1, 4)),
        ("a: |x\n b", "unknown sign after | or >", (1, 5)),
        ("a: > b", "text follows | or >", (1, 6)),
        ("a: - b", "a list cannot start here", (1, 4)),
        ("a: ]", "value is missing", (1, 4)),
        ("a: & b", "anchor or alias without a name", (1, 5)),
    ],
)
def test_mistake_is_named_and_placed(text: str, message: str, place: tuple[int, int]) -> None:
    found = mistake(text)
    assert (found.id, found.message, spot(found.place)) == ("ORB005", message, place)
    assert found.help


def test_template_in_front_of_text() -> None:
    found = mistake("a:\n  prompt: {{ question }} please\n")
    assert (found.id, found.message) == ("ORB005", "template is not quoted")
    assert marked(found.place) == "{{ question }}"


def test_interpolation_in_braces() -> None:
    found = mistake("a: {x: ${env:Q,1}}")
    assert (found.id, found.message) == ("ORB005", "interpolation is not quoted")
    assert marked(found.place) == "${env:Q,1}"


def test_construct_that_started_on_another_line_is_shown_too() -> None:
    found = mistake("a: [1, 2\nb: 3")
    assert [spot(related.place) for related in found.related] == [(1, 4)]
