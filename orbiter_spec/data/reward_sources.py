"""Parts of the reward and the data sources they score: a part without rows, and rows without a part.

The name of a source is that of its entry or file, so it is known without reading rows. Where rows name their own
source, in a column, the first of each file say which there are: a part may then wait for one that comes later, and
what is found is a warning. Prepared rows are not looked into.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from orbiter_spec.data.columns import source_of
from orbiter_spec.data.problems import Problems
from orbiter_spec.data.read import read_rows
from orbiter_spec.data.request import DatasetRequest, SourceRequest
from orbiter_spec.data.reward_checks import LOOKED_AT_BYTES, LOOKED_AT_ROWS, MOST_FILES, reward_route
from orbiter_spec.data.rows import RowPlan
from orbiter_spec.diagnostics import Diagnostic, Severity, nearest
from orbiter_spec.source import Document
from orbiter_spec.spec.experiment import Experiment

MAKES_SOURCES = {"template": "template"}
"""Steps of the pipeline whose rows have a source of their own."""


@dataclass(frozen=True, slots=True)
class Known:
    """Names of sources, each with the request that it was first seen in (None: rows that a step makes).

    `whole` is False where rows that were not looked at may name others.
    """

    names: dict[str, SourceRequest | None]
    whole: bool


def check_sources(experiment: Experiment, document: Document, rows: RowPlan) -> Iterator[Diagnostic]:
    """What of `rewards.sources` does not fit the rows; nothing where no part names sources."""
    parts = experiment.rewards.parts
    if rows.request is None or not any(part.sources for part in parts):
        return
    known = known_sources(rows.request)
    severity = Severity.ERROR if known.whole else Severity.WARNING
    for index, part in enumerate(parts):
        for position, name in enumerate(part.sources or ()):
            if name not in known.names:
                close = nearest(name, known.names)
                yield Diagnostic(
                    "ORB455",
                    f"{part.label} scores rows of {name!r}, and there are none",
                    document.place((*reward_route(document, index), "sources", position)),
                    note=f"did you mean {close!r}?" if close else "",
                    help=f"rows are of {', '.join(sorted(known.names)[:12])}",
                    severity=severity,
                )
    scored = {name for part in parts for name in part.sources or ()}
    if all(part.sources for part in parts if part.weight):
        yield from _unscored(known, scored, rows.request)


def _unscored(known: Known, scored: set[str], request: DatasetRequest) -> Iterator[Diagnostic]:
    for name, source in known.names.items():
        if name not in scored:
            yield Diagnostic(
                "ORB456",
                f"no reward scores rows of {name!r}: whatever is answered there is worth 0",
                (source.place if source is not None else None) or request.place,
                help="add it to the sources of a reward, or leave sources out of one",
            )


def known_sources(request: DatasetRequest) -> Known:
    """The sources of the rows of a dataset, validation rows among them."""
    names: dict[str, SourceRequest | None] = {}
    files = (*request.train, *request.validation)
    whole = len(files) <= MOST_FILES and not any(step.name == "function" for step in request.pipeline)
    for source in files[:MOST_FILES]:
        for name in _of_rows(source, request):
            names.setdefault(name, source)
            whole = whole and name == source.data_source
    made = {name for step, name in MAKES_SOURCES.items() if any(one.name == step for one in request.pipeline)}
    return Known({**dict.fromkeys(made), **names}, whole)


def _of_rows(source: SourceRequest, request: DatasetRequest) -> Iterator[str]:
    """The source of the entry or file, or those of its first rows."""
    rows = []
    if not source.name and source.hub is None:
        rows = list(islice(read_rows(source, Problems(), stop_at=LOOKED_AT_BYTES), LOOKED_AT_ROWS))
    yield from (source_of(row, request.columns) for row in rows)
    if not rows:
        yield source.data_source
