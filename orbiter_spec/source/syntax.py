"""What ruamel says about a broken text, said again for the person who wrote it.

ruamel names the token that it did not expect. The table names the mistake that usually lies behind it; whatever is not
in the table keeps ruamel's own words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ruamel.yaml.error import MarkedYAMLError

from orbiter_spec.diagnostics import Diagnostic, Related
from orbiter_spec.source.events import StumbleError
from orbiter_spec.source.text import Source


@dataclass(frozen=True, slots=True)
class _Mistake:
    """How one of ruamel's problems is reported. `at_start` puts the caret where the broken construct starts."""

    pattern: str
    message: str
    help: str
    at_start: bool = False


_QUOTE = "put the whole value in quotes"
_ESCAPE = r"write \\ for a backslash, or use single quotes"
_MISTAKES = (
    _Mistake(
        r"mapping values are not allowed",
        "a colon cannot stand here",
        f"check this line and the one above, or {_QUOTE}",
    ),
    _Mistake(
        r"could not find expected ':'", "line is no `key: value`", "write a colon and a space after the key", True
    ),
    _Mistake(r"sequence entries are not allowed", "a list cannot start here", "put the `- ` on a line of its own"),
    _Mistake(r"mapping keys are not allowed", "a key cannot start here", _QUOTE),
    _Mistake(r"found unexpected end of stream", "quote is never closed", "close the quote", True),
    _Mistake(r"unexpected document separator", "quote is never closed", "close the quote", True),
    _Mistake(r"expected ',' or ']'", "list is not closed or misses a comma", "write `,` or `]` here"),
    _Mistake(r"expected ',' or '}'", "mapping is not closed or misses a comma", "write `,` or `}` here"),
    _Mistake(r"unknown escape character", "unknown escape in a double-quoted string", _ESCAPE),
    _Mistake(r"hexdecimal numbers", "escape in a double-quoted string is not finished", _ESCAPE),
    _Mistake(r"character '\\t' that cannot start", "a tab cannot stand here", "replace it by spaces"),
    _Mistake(r"character '[@`%|>]' that cannot start", "a plain value cannot start with this character", _QUOTE),
    _Mistake(r"found undefined tag handle", "tag is not allowed", "write the value without a tag"),
    _Mistake(r"<block end>, but found '<scalar>'", "text follows the end of the value", _QUOTE),
    _Mistake(r"<block end>, but found '[\]}]'", "bracket closes nothing", "remove it, or open one before it"),
    _Mistake(
        r"expected <block end>", "line does not fit the lines above it", "give keys of one mapping one indentation"
    ),
    _Mistake(r"expected '<document start>'", "text follows the end of the value", "write `key: value` lines"),
    _Mistake(r"expected alphabetic or numeric", "anchor or alias without a name", f"{_QUOTE} if the sign is meant"),
    _Mistake(r"expected the node content", "value is missing", f"write a value, or {_QUOTE}"),
    _Mistake(r"chomping or indentation indicators", "unknown sign after | or >", "start the text on the next line"),
    _Mistake(r"a comment or a line break", "text follows | or >", "start the text on the next line"),
    _Mistake(
        r"more indented follow up line", "first line of the block is indented less than the next", "align its lines"
    ),
)
_BARE_TEMPLATE = re.compile(r"(?:^|[:\-\[,{=]\s*)(\{\{.*?(?:\}\}|$))")
_TAB = re.compile(r"[ ]*(\t+)")


def explain(error: MarkedYAMLError | StumbleError, source: Source) -> Diagnostic:
    """The diagnostic for what reading `source` as YAML raised."""
    if isinstance(error, StumbleError) or error.problem_mark is None:
        return _unknown(source, error.offset if isinstance(error, StumbleError) else 0)
    offset = error.problem_mark.index
    start = error.context_mark.index if error.context_mark is not None else offset
    special = (
        _tab(source, offset) or _template(source, offset) or _template(source, start) or _interpolation(source, offset)
    )
    return special or _from_table(source, str(error.problem or ""), start, offset)


def _from_table(source: Source, problem: str, start: int, offset: int) -> Diagnostic:
    mistake = next((row for row in _MISTAKES if re.search(row.pattern, problem)), None)
    if mistake is None:
        return Diagnostic("ORB005", "YAML cannot be read", source.place(offset, offset + 1), problem, _QUOTE)
    if mistake.at_start:
        return Diagnostic("ORB005", mistake.message, source.place(start, start + 1), help=mistake.help)
    place, origin = source.place(offset, offset + 1), source.place(start, start + 1)
    related = (Related(origin, "what this belongs to starts here"),) if origin.line != place.line else ()
    return Diagnostic("ORB005", mistake.message, place, help=mistake.help, related=related)


def _tab(source: Source, offset: int) -> Diagnostic | None:
    """Tabs before the first word of the line at `offset`."""
    start = source.starts[source.line_of(min(offset, len(source.text))) - 1]
    found = _TAB.match(source.text, start)
    if not found:
        return None
    place = source.place(found.start(1), found.end(1))
    return Diagnostic("ORB005", "a tab indents this line", place, "YAML indents with spaces", "replace tabs by spaces")


def _template(source: Source, offset: int) -> Diagnostic | None:
    """A Jinja template without quotes on the line at `offset`."""
    line = source.line_of(min(offset, len(source.text)))
    found = _BARE_TEMPLATE.search(source.line_text(line))
    if not found:
        return None
    start = source.starts[line - 1]
    place = source.place(start + found.start(1), start + found.end(1))
    return Diagnostic("ORB005", "template is not quoted", place, "YAML reads { as a mapping", f"{_QUOTE}")


def _interpolation(source: Source, offset: int) -> Diagnostic | None:
    """`${env:NAME}` without quotes inside braces or brackets."""
    if source.text[offset - 1 : offset + 1] != "${":
        return None
    end = source.text.find("}", offset) + 1 or offset + 1
    cure = "put each key on a line of its own, or put quotes around a string"
    note = "YAML reads { as a mapping here"
    return Diagnostic("ORB005", "interpolation is not quoted", source.place(offset - 1, end), note, cure)


def _unknown(source: Source, offset: int) -> Diagnostic:
    place = source.place(max(0, min(offset, len(source.text) - 1)), offset + 1)
    return Diagnostic(
        "ORB005", "YAML cannot be read", place, "reading stopped here", "look for an unusual escape or sign"
    )
