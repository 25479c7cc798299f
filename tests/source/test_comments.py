from __future__ import annotations

import pytest

from orbiter_spec.diagnostics import Severity
from tests.source.helpers import document, marked, mistake, spot


def test_comment_covers_its_own_line_or_the_next_value() -> None:
    text = """\
a: 1  # orbiter: ignore[ORB203, ORB204] two on purpose

# orbiter: ignore[ORB301]
# and a word about it

b: 2
"""
    first, second = document(text).ignores()
    assert (first.ids, first.reason, first.line) == (("ORB203", "ORB204"), "two on purpose", 1)
    assert marked(first.place) == "# orbiter: ignore[ORB203, ORB204] two on purpose"
    assert (second.ids, second.reason, second.line, spot(second.place)) == (("ORB301",), "", 6, (3, 1))


def test_strings_are_no_comments() -> None:
    text = 'a: "x # orbiter: ignore[ORB203]"\nb: |\n  # orbiter: ignore[ORB203]\nc: x#orbiter:ignore[ORB203]\n'
    assert document(text).ignores() == []


@pytest.mark.parametrize(
    "comment", ["# orbiter: ignore", "# orbiter: ignore[]", "# orbiter: ignore[203]", "#orbiter: skip"]
)
def test_comment_that_ignores_nothing_says_so(comment: str) -> None:
    found = mistake(f"a: 1 {comment}\n")
    assert (found.id, found.severity) == ("ORB013", Severity.WARNING)
    assert marked(found.place) == comment


def test_comments_of_every_file_are_found(tmp_path) -> None:
    (tmp_path / "base.yaml").write_text("b: 1 # orbiter: ignore[ORB203]\n", encoding="utf-8")
    found = document(f"extends: [{tmp_path}/base.yaml, {tmp_path}/base.yaml]\na: 1 # orbiter: ignore[ORB204]\n")
    assert [(ignore.place.file, ignore.ids) for ignore in found.ignores()] == [
        ("<stdin>", ("ORB204",)),
        (f"{tmp_path}/base.yaml", ("ORB203",)),
    ]
