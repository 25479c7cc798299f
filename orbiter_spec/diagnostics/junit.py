"""A report as JUnit XML, for build servers that show test results and nothing else.

An error is a failed case of the file it stands in; warnings and notes pass and keep their text as output. A report
without findings has one passed case, because an empty suite reads as a check that did not run.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from orbiter_spec.diagnostics.model import Diagnostic, Report, Severity
from orbiter_spec.diagnostics.text import render_one

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """The report as one test suite, without a line break at the end."""
    failures = report.count(Severity.ERROR)
    counts = {"tests": str(max(1, len(report))), "failures": str(failures), "errors": "0", "skipped": "0"}
    root = Element("testsuites", counts)
    suite = SubElement(root, "testsuite", {"name": "orbiter-spec", **counts})
    for found in report:
        _add_case(suite, found)
    if not len(report):
        SubElement(suite, "testcase", {"classname": "orbiter-spec", "name": "no findings"})
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode")


def _add_case(suite: Element, found: Diagnostic) -> None:
    place = found.place
    where = f" at {place.line}:{place.column}" if place else ""
    name = _clean(f"{found.id}{where}: {found.message}")
    case = SubElement(suite, "testcase", {"classname": _clean(place.file if place else "orbiter-spec"), "name": name})
    if found.severity is Severity.ERROR:
        failure = SubElement(case, "failure", {"type": found.id, "message": _clean(found.message)})
        failure.text = _clean(render_one(found))
    else:
        SubElement(case, "system-out").text = _clean(render_one(found))


def _clean(text: str) -> str:
    """`text` without the characters that XML 1.0 cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
