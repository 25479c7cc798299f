"""The reference of the language: one page a top-level section, every field with its values, default and verl keys."""

from __future__ import annotations

from functools import cache

from orbiter_spec.lower.lowering import TABLE
from orbiter_spec.spec.reference import Entry, entries

FOLDER = "docs/fields"
INTRODUCTION = """\
# Fields

Every word of the language. `orbiter-spec explain FIELD` prints one of them, and with a spec before it also what it is
there; a lone text or number may stand for a whole section where Values says so. The last column names the verl keys
that a field sets by itself; a field without one takes part in what is computed from several.
"""

Rows = tuple[tuple[str, Entry], ...]


def field_files() -> dict[str, str]:
    """Path below the project's root to page, and the index."""
    tops = [entry for entry in entries().values() if "." not in entry.route]
    pages = {f"{FOLDER}/{top.route}.md": page(top) for top in tops if top.is_section}
    return {**pages, f"{FOLDER}/README.md": index(tops)}


def index(tops: list[Entry]) -> str:
    """The top of the language."""
    linked = [(f"[{top.route}]({top.route}.md)" if top.is_section else f"`{top.route}`", top) for top in tops]
    return f"{INTRODUCTION}\n{_table(tuple(linked))}"


def page(top: Entry) -> str:
    """All fields below `top`, a table for each section. A section equal to one above refers to it."""
    printed: dict[tuple[tuple[str, ...], ...], str] = {}
    repeated: list[str] = []
    parts = [f"# {top.route}\n\n{top.meaning}\n"]
    for section, rows in _grouped(top.route).items():
        if any(section.startswith(f"{above}.") for above in repeated):
            continue
        first = printed.setdefault(_content(rows), section)
        if first != section:
            repeated.append(section)
        body = _table(rows) if first == section else f"As `{first}`.\n"
        parts.append(f"\n## {section}\n\n{_about(section)}{body}")
    return "".join(parts)


def _content(rows: Rows) -> tuple[tuple[str, ...], ...]:
    return tuple((name, entry.values, entry.meaning, entry.left_out, *_keys(entry.route)) for name, entry in rows)


def _grouped(top: str) -> dict[str, Rows]:
    groups: dict[str, list[tuple[str, Entry]]] = {}
    for route, entry in entries().items():
        section, _, name = route.rpartition(".")
        if section.partition(".")[0].removesuffix("[]") == top:
            groups.setdefault(section, []).append((f"`{name}`", entry))
    return {section: tuple(rows) for section, rows in groups.items()}


def _about(section: str) -> str:
    entry = entries().get(section.removesuffix("[]"))
    if entry is None or "." not in entry.route:
        return ""
    return " ".join(filter(None, [entry.meaning, entry.left_out and f"Left out: {entry.left_out}"])) + "\n\n"


def _table(rows: Rows) -> str:
    lines = ["| Field | Values | Means | Left out | Sets |", "| --- | --- | --- | --- | --- |"]
    for shown, entry in rows:
        cells = (shown, entry.values, entry.meaning, entry.left_out, "<br>".join(_keys(entry.route)))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _keys(route: str) -> tuple[str, ...]:
    return tuple(f"`{key}`" for key in _sets().get(route, ()))


@cache
def _sets() -> dict[str, tuple[str, ...]]:
    """Field to the keys it sets under any engine, the common ones first."""
    found: dict[str, list[str]] = {}
    for row in TABLE:
        found.setdefault(row.field, []).extend(key for keys in row.keys.values() for key in keys)
    return {field: tuple(dict.fromkeys(keys)) for field, keys in found.items()}
