"""What the findings mean that no rule makes: short pages by id, for `explain` and for the docs.

A rule's page is its docstring. Everything else that is reported (reading, data, rewards, runs, imports) has an entry
in a Markdown file here: a heading with id and title, then three paragraphs: what it means, why it matters, what to do.
They stand apart from the code that reports, so that it loads no text that is seldom shown; a test holds the ids of both
together, each with one entry and none left over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

HEADINGS = ("What it means", "Why it matters", "What to do")
_ENTRY = re.compile(r"^## (ORB\d{3}): (.+)\n\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The page of one id; `paragraphs` are those of `HEADINGS`."""

    id: str
    title: str
    paragraphs: tuple[str, ...]

    @property
    def body(self) -> str:
        """The paragraphs under their headings."""
        parts = zip(HEADINGS, self.paragraphs, strict=True)
        return "\n\n".join(f"## {heading}\n\n{paragraph}" for heading, paragraph in parts)


@cache
def explanations() -> tuple[Explanation, ...]:
    """Every entry, by id. Raises ValueError when a file is not made of entries."""
    folder = files(__package__)
    texts = [item.read_text(encoding="utf-8") for item in folder.iterdir() if item.name.endswith(".md")]
    return tuple(sorted((entry for text in texts for entry in _parse(text)), key=lambda entry: entry.id))


def explanation(id: str) -> Explanation | None:
    """The entry of `id`."""
    return next((entry for entry in explanations() if entry.id == id), None)


def _parse(text: str) -> list[Explanation]:
    before, *rest = _ENTRY.split(text)
    if before.strip():
        raise ValueError(f"text before the first entry: {before[:80]!r}")
    entries = []
    for id, title, body in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        paragraphs = tuple(body.strip().split("\n\n"))
        if len(paragraphs) != len(HEADINGS):
            raise ValueError(f"{id} has {len(paragraphs)} paragraphs instead of {len(HEADINGS)}")
        entries.append(Explanation(id, title, paragraphs))
    return entries
