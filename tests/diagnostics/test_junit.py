from __future__ import annotations

from xml.etree.ElementTree import fromstring

from orbiter_spec.diagnostics import Diagnostic, Place, Report
from orbiter_spec.diagnostics.junit import render
from orbiter_spec.diagnostics.text import render_one
from tests.diagnostics.helpers import EMPTY, REPORT, STYLE


def test_errors_fail_and_warnings_pass() -> None:
    root = fromstring(render(REPORT))
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    bare, warning, error = suite
    assert bare.get("classname") == "orbiter-spec"
    assert error.get("classname") == "specs/math.yaml"
    (failure,) = error
    assert (failure.tag, failure.get("type"), failure.text) == ("failure", "ORB203", render_one(STYLE))
    assert [child.tag for child in warning] == ["system-out"]


def test_nothing_found_is_one_passed_case() -> None:
    (suite,) = fromstring(render(EMPTY))
    assert (suite.get("tests"), suite.get("failures"), len(suite)) == ("1", "0", 1)


def test_any_text_stays_xml() -> None:
    evil = "\x00\x1b<&\"'\ud800]]>\ufffe"
    assert fromstring(
        render(Report.of([Diagnostic("ORB001", evil, Place(evil, 1, 1, 1, evil), evil, evil)])).encode("utf-8")
    )
