"""Files of rows that verl reads where they are: are they here, can they be read, and have they verl's columns.

Only the footer of a Parquet file is read. What lies elsewhere may be on the cluster, so its absence is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orbiter_spec.data.opening import suffix_of
from orbiter_spec.data.prepared_types import disagreements, is_messages
from orbiter_spec.data.request import SourceRequest
from orbiter_spec.diagnostics import Diagnostic, Severity, nearest
from orbiter_spec.spec.experiment import Experiment

SCORED_BY = "reward_model"


def check_prepared(
    experiment: Experiment, train: tuple[SourceRequest, ...], validation: tuple[SourceRequest, ...]
) -> tuple[list[Diagnostic], bool]:
    """Findings about the files, and whether all that are here can be read and put together."""
    problems: list[Diagnostic] = []
    for source in (*train, *validation):
        if not source.path.is_file():
            problems.append(_absent(source))
        elif suffix_of(source.path) == ".parquet":
            problems += _footer(experiment, source)
    if experiment.dataset.custom_class is None:
        problems += [*disagreements(train), *disagreements(validation)]
    return problems, not any(found.severity is Severity.ERROR for found in problems)


def _absent(source: SourceRequest) -> Diagnostic:
    return Diagnostic(
        "ORB418",
        f"prepared file {source.label} is not on this machine",
        source.place,
        note="rows are not counted, and the path reaches verl as it is written",
        help="check the path, or run where the file is",
        severity=Severity.WARNING,
    )


def _footer(experiment: Experiment, source: SourceRequest) -> Iterator[Diagnostic]:
    from pyarrow import ArrowException, parquet

    try:
        schema = parquet.read_schema(source.path)
    except (OSError, ArrowException) as error:
        note = " ".join(str(error).split())[:160]
        yield Diagnostic(
            "ORB459",
            f"prepared file {source.label} cannot be read",
            source.place,
            note=note,
            help="write the file again, or name another",
        )
        return
    columns = experiment.dataset.columns
    prompt = (columns.prompt if columns else None) or "prompt"
    scorer = (columns.scorer if columns else None) or "data_source"
    names = list(schema.names)
    if prompt in names and experiment.dataset.custom_class is None and not is_messages(schema.field(prompt).type):
        own = bool(experiment.agent.environment or experiment.agent.loop_config)
        yield _no_messages(source, prompt, str(schema.field(prompt).type), own_loop=own)
    for name, severity in ((prompt, Severity.ERROR), (scorer, Severity.WARNING), (SCORED_BY, Severity.WARNING)):
        if name not in names and experiment.dataset.custom_class is None:
            yield _without(source, name, names, severity)


def _without(source: SourceRequest, name: str, names: list[str], severity: Any) -> Diagnostic:
    close = nearest(name, names)
    return Diagnostic(
        "ORB459",
        f"prepared file {source.label} has no column {name!r}, which verl reads",
        source.place,
        note=f"did you mean {close!r}?" if close else f"it has {', '.join(names[:12])}",
        help="remove prepared: true and let the rows be built, or name the column in dataset.columns",
        severity=severity,
    )


def _no_messages(source: SourceRequest, name: str, kind: str, *, own_loop: bool) -> Diagnostic:
    """A loop of the user's own may do with a text; verl's take it for a list of messages."""
    return Diagnostic(
        "ORB459",
        f"prepared file {source.label} has no messages in {name!r}",
        source.place,
        note=f"the column is {kind[:80]}, and verl reads a list of role and content",
        help="remove prepared: true and let the rows be built, or name the column in dataset.columns.prompt",
        severity=Severity.WARNING if own_loop else Severity.ERROR,
    )


def count_rows(sources: tuple[SourceRequest, ...]) -> int | None:
    """Rows by the files' own footers, without reading them; None where a file is elsewhere or has none."""
    if not sources or not all(source.path.is_file() and suffix_of(source.path) == ".parquet" for source in sources):
        return None
    from pyarrow import parquet

    return sum(int(parquet.read_metadata(source.path).num_rows) for source in sources)
