from __future__ import annotations

from orbiter_spec.diagnostics import Diagnostic, Place, Report, Severity
from orbiter_spec.diagnostics.github import render
from tests.diagnostics.helpers import EMPTY, REPORT


def test_each_finding_is_one_escaped_line() -> None:
    bare, warning, error = render(REPORT).splitlines()
    assert bare == "::error title=ORB501 nothing can be written::nothing can be written%0Ahelp: free some space"
    assert warning == (
        "::warning file=specs/math.yaml,line=7,endLine=7,col=3,endColumn=8,"
        "title=ORB224 rows are dropped%3A 100%25%2C or so::"
        "rows are dropped: 100%25, or so%0Abase, x.yaml:112:1: the rows: these"
    )
    assert error.startswith("::error file=specs/math.yaml,line=18,endLine=18,col=20,endColumn=21,title=ORB203 ")


def test_nothing_breaks_out_of_its_line() -> None:
    evil = "a\r\n::set-output name=x::y,file=z"
    shown = render(Report.of([Diagnostic("ORB090", evil, Place(evil), evil, evil, Severity.NOTE)]))
    assert len(shown.splitlines()) == 1
    assert shown.startswith("::notice file=a%0D%0A%3A%3Aset-output name=x%3A%3Ay%2Cfile=z,line=1")


def test_nothing_found() -> None:
    assert render(EMPTY) == ""
