from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from orbiter_spec.diagnostics import Diagnostic, Place, Report
from orbiter_spec.diagnostics.snippet import WINDOW, cut_snippet, printable
from orbiter_spec.diagnostics.text import render, render_one
from tests.diagnostics.helpers import EMPTY, REPORT, STYLE


def caret_line(place: Place, note: str = "") -> tuple[str, str]:
    """The source line and the caret line below it."""
    lines = render_one(Diagnostic("ORB001", "x", place, note)).splitlines()
    return lines[3], lines[4]


def test_one_finding_looks_like_the_style_guide_says() -> None:
    assert (
        render_one(STYLE)
        == """\
error[ORB203]: rollout tensor parallelism does not divide its pool
  --> specs/math.yaml:18:20
   |
18 |   tensor_parallel: 4
   |                    ^ 6 is not a multiple of 4
   = help: use 1, 2, 3 or 6, or give the pool 8 GPUs"""
    )


def test_report_is_sorted_with_a_count_at_its_end() -> None:
    assert (
        render(REPORT)
        == f"""\
error[ORB501]: nothing can be written
  = help: free some space

warning[ORB224]: rows are dropped: 100%, or so
   --> specs/math.yaml:7:3
    |
  7 |   batch: 3
    |   ^^^^^
   ::: base, x.yaml:112:1
    |
112 | rows: 10
    | ---- the rows: these

{render_one(STYLE)}

2 errors, 1 warning"""
    )


def test_empty_report_is_empty() -> None:
    assert render(EMPTY) == ""


def test_finding_about_a_whole_file_shows_no_line() -> None:
    found = Diagnostic("ORB001", "file does not exist", Place("a.yaml"), "looked in b", "check the path\nor the folder")
    assert (
        render_one(found)
        == """\
error[ORB001]: file does not exist
 --> a.yaml
  = note: looked in b
  = help: check the path
          or the folder"""
    )


def test_color_changes_nothing_but_color() -> None:
    colored = render(REPORT, color=True)
    assert "\x1b[1;31merror[ORB203]\x1b[0m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == render(REPORT)
    assert "\x1b" not in render(REPORT)


def test_tabs_take_four_columns() -> None:
    assert caret_line(Place("a", 1, 4, 2, "\ta\tbc")) == ("1 |     a    bc", "  |          ^^")
    assert caret_line(Place("a", 1, 1, 1, "\ta")) == ("1 |     a", "  | ^^^^")


def test_wide_and_combining_characters_take_their_columns() -> None:
    assert caret_line(Place("a", 1, 3, 1, "日本x")) == ("1 | 日本x", "  |     ^")
    assert caret_line(Place("a", 1, 1, 2, "日本x")) == ("1 | 日本x", "  | ^^^^")
    assert caret_line(Place("a", 1, 3, 1, "e\u0301x")) == ("1 | e\u0301x", "  |  ^")


def test_terminal_never_gets_control_characters() -> None:
    evil = "a\x1b[31m\u202eb\nc"
    shown = render(Report.of([Diagnostic("ORB001", evil, Place(evil, 1, 2, 1, evil), evil, evil)]))
    assert all(char.isprintable() or char == "\n" for char in shown)
    assert printable("a\nb\x1b") == "a\\nb\\x1b"


def test_caret_behind_the_end_of_the_line() -> None:
    assert caret_line(Place("a", 1, 4, 1, "a: ")) == ("1 | a:", "  |    ^")


def test_long_lines_are_cut_around_the_caret() -> None:
    text = "".join(f"{number:04d} " for number in range(200))
    for column in (1, 6, 301, 501, 996):
        line, carets = caret_line(Place("a", 1, column, 4, text))
        assert len(line) <= WINDOW + 4
        start = carets.index("^")
        assert line[start : start + 4] == text[column - 1 : column + 3]
    assert caret_line(Place("a", 1, 501, 400, text))[1].count("^") < WINDOW


@given(st.text(), st.integers(1, 300), st.integers(1, 300), st.integers(20, 120))
def test_snippet_fits_its_window(text: str, column: int, width: int, window: int) -> None:
    cut = cut_snippet(Place("a", 1, column, width, text * 5), window)
    assert cut.text.isprintable()
    assert cut.width >= 1
    assert cut.indent >= 0
    assert len(cut.text) <= window + 12


def test_summary_counts_what_is_there() -> None:
    assert render(Report.of([STYLE])).endswith("\n\n1 error")
