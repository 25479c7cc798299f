"""Columns that the prompt or a reward uses and that hold nothing, in every row or in some.

A question of no text is a prompt all the same, and an empty answer is right whenever the model says nothing: both train
without a word. So what is used is counted on the rows that a check looks at, where every row has passed the other
checks. What a template asks about (`if`, `default`) may be empty, and is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from orbiter_spec.data.columns import ABSENT, look_up, source_of
from orbiter_spec.data.pipeline import row_name
from orbiter_spec.data.read import Row
from orbiter_spec.data.request import DatasetRequest, SourceRequest
from orbiter_spec.data.steps.meaning import name_of
from orbiter_spec.diagnostics import Diagnostic, Place, Related, Severity


@dataclass(frozen=True, slots=True)
class Use:
    """A column by its name or by its role, what uses it, and the sources whose rows alone are concerned (none: all)."""

    user: str
    column: str = ""
    role: str = ""
    place: Place | None = None
    sources: frozenset[str] = frozenset()


@dataclass(slots=True)
class Count:
    """Rows looked at, those with the column, those that hold nothing, the first of these, and the column's name."""

    rows: int = 0
    present: int = 0
    empty: int = 0
    first: str = ""
    column: str = ""


@dataclass
class EmptyColumns:
    """Counts what the uses find empty, for each entry of the dataset apart."""

    request: DatasetRequest
    uses: tuple[Use, ...] = ()
    counts: dict[tuple[Use, str, int], Count] = field(default_factory=dict)
    entries: dict[tuple[str, int], SourceRequest] = field(default_factory=dict)

    def look(self, row: Row, split: str) -> None:
        """Count a row of a split."""
        entry = (split, row.source.group)
        self.entries.setdefault(entry, row.source)
        for use in self.uses:
            if use.sources and source_of(row, self.request.columns) not in use.sources:
                continue
            name = use.column or name_of(use.role, row.fields, self.request.columns)
            if name is None:
                continue
            count = self.counts.setdefault((use, *entry), Count(column=name))
            count.rows += 1
            value = look_up(row.fields, name)
            count.present += value is not ABSENT
            if is_empty(value):
                count.empty += 1
                count.first = count.first or row_name(row)

    def findings(self) -> Iterator[Diagnostic]:
        """An error for a column that holds nothing in any row, a warning where it is some rows.

        One that no row has is a finding of others, as long as no step changes the rows.
        """
        for (use, split, group), count in self.counts.items():
            if count.empty and (count.present or self.request.pipeline):
                yield _finding(use, count, self.entries[split, group])


def _finding(use: Use, count: Count, source: SourceRequest) -> Diagnostic:
    every = count.empty == count.rows
    share = f"{count.empty / count.rows:.1%} of its rows" if count.rows > 1 else "its row"
    amount = "every row" if every else f"{count.empty:,} of {count.rows:,} rows"
    column = use.role if use.role in ("input", "expected") else ""
    other = f"name another column in dataset.columns.{column}" if column else "use another column"
    return Diagnostic(
        "ORB457" if every else "ORB458",
        f"{count.column} is empty in {amount} of {source.label}, and {use.user} uses it",
        source.place,
        note=f"looked at {count.rows:,} rows" if every else f"{share}; the first is {count.first}",
        help=other if every else f"drop them in dataset.pipeline: filter: {count.column} not in (None, '')",
        severity=Severity.ERROR if every else Severity.WARNING,
        related=(Related(use.place, "used here"),) if use.place is not None else (),
    )


def is_empty(value: Any) -> bool:
    """Whether a value holds nothing: absent, null, not a number, or text, a list or a mapping without content."""
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, (list, dict)):
        return not value
    return not isinstance(value, (int, float, bytes)) or value != value


def uses_of(
    request: DatasetRequest, read_columns: Mapping[str, Iterable[str] | None], *, asks_the_row: bool = True
) -> tuple[Use, ...]:
    """What `request` makes of columns; `read_columns` are those that rewards read, each with their sources.

    Where an environment speaks first, `asks_the_row` is False: it may need no words of the row.
    """
    places = request.columns.places
    found = list(_prompt_uses(request)) if asks_the_row else []
    if request.needs_expected or request.expected_sources:
        sources = frozenset(request.expected_sources)
        found.append(Use("a reward", role="expected", place=places.get("expected"), sources=sources))
    for column, sources_read in read_columns.items():
        found.append(Use("a reward", column=column, sources=frozenset(sources_read or ())))
    return tuple(found)


def _prompt_uses(request: DatasetRequest) -> Iterator[Use]:
    if request.prompt is None:
        yield Use("the prompt", role="input", place=request.columns.places.get("input"))
    for name, template in (("agent.prompt", request.prompt), ("agent.instructions", request.instructions)):
        if template is not None:
            from orbiter_spec.data.printed_columns import printed_columns

            yield from (Use(name, column=column, place=template.place) for column in printed_columns(template))
