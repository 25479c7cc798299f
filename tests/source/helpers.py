"""Short ways to read a text and to say what came out."""

from __future__ import annotations

from typing import Any

from orbiter_spec.diagnostics import Diagnostic, Place
from orbiter_spec.source import Document, read


def document(text: str, **options: Any) -> Document:
    options.setdefault("environ", {})
    found_document, found = read(None, text=text, **options)
    assert found_document is not None
    assert found == []
    return found_document


def data(text: str, **options: Any) -> dict[str, Any]:
    return document(text, **options).data


def mistakes(text: str, **options: Any) -> list[Diagnostic]:
    options.setdefault("environ", {})
    return read(None, text=text, **options)[1]


def mistake(text: str, **options: Any) -> Diagnostic:
    found = mistakes(text, **options)
    assert len(found) == 1, found
    return found[0]


def marked(place: Place | None) -> str:
    """What stands above the carets."""
    assert place is not None
    return place.text[place.column - 1 : place.column - 1 + place.width]


def spot(place: Place | None) -> tuple[int, int]:
    assert place is not None
    return place.line, place.column
