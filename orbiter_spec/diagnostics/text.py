"""A report for people: message, place, source line, caret, help, and a count at the end.

error[ORB203]: rollout tensor parallelism does not divide its pool
  --> specs/math.yaml:18:20
   |
18 |   tensor_parallel: 4
   |                    ^ 6 is not a multiple of 4
   = help: use 1, 2, 3 or 6, or give the pool 8 GPUs
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics.model import Diagnostic, Place, Report, Severity
from orbiter_spec.diagnostics.snippet import cut_snippet, printable

_COLORS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTE: "1;36"}
_FRAME = "1;34"
_BOLD = "1"


def render(report: Report, *, color: bool = False) -> str:
    """All findings with a blank line between them and the count below; an empty report is the empty string."""
    if not len(report):
        return ""
    blocks = [render_one(found, color=color) for found in report]
    return "\n\n".join([*blocks, summarize(report)])


def render_one(found: Diagnostic, *, color: bool = False) -> str:
    """One finding, without a line break at the end."""
    return "\n".join(_Painter(found, color).lines())


def summarize(report: Report) -> str:
    """`2 errors, 1 warning`; the empty string for an empty report."""
    counts = [(report.count(severity), severity.value) for severity in Severity]
    return ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts if count)


class _Painter:
    """The lines of one finding, all with a gutter of the same width."""

    def __init__(self, found: Diagnostic, color: bool) -> None:
        self.found = found
        self.color = color
        places = [found.place, *(related.place for related in found.related)]
        self.gutter = max((len(str(place.line)) for place in places if place), default=1)

    def lines(self) -> Iterator[str]:
        found = self.found
        mark = _COLORS[found.severity]
        title = self.paint(f"{found.severity}[{found.id}]", mark) + self.paint(f": {printable(found.message)}", _BOLD)
        yield title
        if found.place is not None:
            yield from self.snippet("-->", found.place, "^", found.note, mark)
        elif found.note:
            yield from self.remark("note", found.note)
        for related in found.related:
            yield from self.snippet(":::", related.place, "-", related.note, _FRAME)
        if found.help:
            yield from self.remark("help", found.help)

    def snippet(self, arrow: str, place: Place, mark: str, note: str, style: str) -> Iterator[str]:
        """A place: where it is, and when its line is known the line with the marks and the note below it."""
        blank = " " * self.gutter
        yield f"{blank}{self.paint(arrow, _FRAME)} {printable(_where(place))}"
        if not place.text:
            if note:
                yield from self.remark("note", note)
            return
        cut = cut_snippet(place)
        bar = self.paint("|", _FRAME)
        marks = self.paint(f"{mark * cut.width} {printable(note)}".rstrip(), style)
        yield f"{blank} {bar}"
        yield f"{self.paint(str(place.line).rjust(self.gutter), _FRAME)} {bar} {cut.text}".rstrip()
        yield f"{blank} {bar} {' ' * cut.indent}{marks}"

    def remark(self, name: str, text: str) -> Iterator[str]:
        """`= help: ...`; further lines of the text stand below its first."""
        first, *rest = text.splitlines() or [""]
        lead = f"{' ' * self.gutter} {self.paint('=', _FRAME)} "
        yield f"{lead}{self.paint(f'{name}:', _BOLD)} {printable(first)}"
        for line in rest:
            yield f"{' ' * (self.gutter + len(name) + 5)}{printable(line)}".rstrip()

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.color else text


def _where(place: Place) -> str:
    """`file:line:column`; only the file where no line of it is meant."""
    whole_file = not place.text and (place.line, place.column) == (1, 1)
    return place.file if whole_file else f"{place.file}:{place.line}:{place.column}"
