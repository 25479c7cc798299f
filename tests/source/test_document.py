from __future__ import annotations

from pathlib import Path

import pytest

from orbiter_spec.diagnostics import Place
from orbiter_spec.source import Route
from tests.source.helpers import document, marked

TEXT = """\
agent:
  model: Qwen/Qwen2.5-7B
  prompt:
  tools:
    - {function: tools.py:search}
    - function: tools.py:open
      args: [1, "two"]
text: |
  first
  second
"""


@pytest.mark.parametrize(
    ("route", "line", "column", "shown"),
    [
        (("agent", "model"), 2, 10, "Qwen/Qwen2.5-7B"),
        (("agent",), 2, 3, "model"),
        (("agent", "tools"), 5, 5, "-"),
        (("agent", "tools", 0), 5, 7, "{function: tools.py:search}"),
        (("agent", "tools", 1), 6, 7, "function"),
        (("agent", "tools", 1, "args", 1), 7, 17, '"two"'),
        (("text",), 8, 7, "|"),
        ((), 1, 1, "agent"),
    ],
)
def test_place_of_a_value(route: Route, line: int, column: int, shown: str) -> None:
    place = document(TEXT).place(route)
    assert (place.line, place.column, marked(place)) == (line, column, shown)
    assert place.text == TEXT.splitlines()[line - 1]


@pytest.mark.parametrize(
    ("route", "line", "shown"),
    [(("agent",), 1, "agent"), (("agent", "model"), 2, "model"), (("agent", "tools", 1, "args"), 7, "args")],
)
def test_place_of_a_key(route: Route, line: int, shown: str) -> None:
    place = document(TEXT).place(route, key=True)
    assert (place.line, marked(place)) == (line, shown)


@pytest.mark.parametrize(
    ("route", "line", "shown"),
    [
        (("agent", "prompt"), 3, "prompt"),
        (("agent", "limits"), 1, "agent"),
        (("agent", "limits", "tokens"), 1, "agent"),
        (("agent", "model", "path"), 2, "Qwen/Qwen2.5-7B"),
        (("agent", "prompt", "x"), 3, "prompt"),
        (("agent", "tools", 7, "x"), 4, "tools"),
        (("agent", "tools", 1, "x"), 6, "function"),
        (("hardware",), 1, "agent"),
    ],
)
def test_absent_route_is_shown_at_what_is_nearest(route: Route, line: int, shown: str) -> None:
    place = document(TEXT).place(route)
    assert (place.line, marked(place)) == (line, shown)


def test_has() -> None:
    found = document(TEXT)
    assert found.has(("agent", "prompt"))
    assert not found.has(("agent", "limits"))


def test_place_names_the_file_as_it_was_named() -> None:
    found = document("a: 1")
    assert found.place(("a",)) == Place("<stdin>", 1, 4, 1, "a: 1")
    assert found.path is None
    assert found.files == ()
    assert found.base(("a",)) == Path()
