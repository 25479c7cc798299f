"""From the spec's `dataset` to rows in a compiled folder.

The spec says files and columns in the user's words; `DatasetRequest` says what is to be done. Files are named in rows
relative to the spec, so that two copies of a project build the same bytes. Prepared files are not touched: verl reads
them where they are.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from orbiter_spec.data.opening import matching_files
from orbiter_spec.data.prepared import check_prepared, count_rows
from orbiter_spec.data.request import (
    BuildResult,
    Columns,
    DatasetRequest,
    HubRequest,
    SourceRequest,
    StepRequest,
    TemplateRequest,
    TokenizerRequest,
)
from orbiter_spec.data.run_records import Selection
from orbiter_spec.data.source_files import source_files
from orbiter_spec.diagnostics import Diagnostic, Severity
from orbiter_spec.source import Document, Route
from orbiter_spec.spec.dataset import Hub, RunRecords, Source, Validation
from orbiter_spec.spec.experiment import Experiment

TRAIN_FILE = "data/train.parquet"
VALIDATION_FILE = "data/validation.parquet"
WAITING = "ORB460"
"""Rows that a teacher has not been asked about yet."""
COLUMN_ROLES = {"input", "expected", "chat", "source", "images"}
"""Columns that rows are built from; the others are verl's, in prepared rows."""
EMPTY = ("ORB457", "ORB458")
"""Columns that hold nothing: found by a look, and true of the rows that are built."""
DRAW_SEED = 42
"""Draws the validation share where the spec names no seed, or asks verl for a random one: rows stay reproducible."""


DISK_HELP = "free some space, or set ORBITER_CACHE to a folder on another disk"

Rows = Literal["look", "build", "ask"]


@dataclass
class RowPlan:
    """What is known about rows before they are written; counts are None where nobody has counted.

    `built` are the files of a build that has been made to count them.
    """

    request: DatasetRequest | None
    train_rows: int | None = None
    validation_rows: int | None = None
    paths: dict[str, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    built: tuple[Path, ...] = ()


def plan_rows(
    experiment: Experiment,
    document: Document,
    *,
    needs_expected: bool = False,
    expected_sources: Iterable[str] = (),
    read_columns: Mapping[str, Iterable[str] | None] | None = None,
    rows: Rows = "look",
) -> tuple[RowPlan | None, list[Diagnostic]]:
    """Check the rows that `experiment` names and count them. None when there is no point in going on.

    With `needs_expected`, rows without an expected answer are a problem, else those of `expected_sources`.
    `read_columns` are columns that rewards read by name, each with the sources that are scored (None: all). `rows` says
    what may be done to know: how many rows a pipeline leaves is known when it has run, so with `build` its rows are
    built, in the cache, and with `ask` a teacher is asked for what they need.
    """
    compared = () if needs_expected else tuple(sorted(expected_sources))
    request = request_rows(experiment, document)
    request = replace(request, needs_expected=needs_expected, expected_sources=compared)
    files = tuple(path for source in (*request.train, *request.validation) for path in source_files(source))
    if experiment.dataset.prepared:
        return _prepared(experiment, request, files)
    from orbiter_spec.data.build import check
    from orbiter_spec.data.empty_columns import uses_of
    from orbiter_spec.data.prompt_checks import check_prompts, first_rows

    has_environment = experiment.agent.environment is not None
    checked = check(request, uses=uses_of(request, read_columns or {}, asks_the_row=not has_environment))
    problems = list(checked.diagnostics)
    if any(found.severity is Severity.ERROR for found in problems):
        return None, problems
    paths = {"dataset.train": TRAIN_FILE}
    aside = request.fraction is not None or request.held_out is not None
    if request.validation or aside or any(step.name == "split" for step in request.pipeline):
        paths["dataset.validation"] = VALIDATION_FILE
    if request.pipeline and rows != "look":
        checked = _built(request, rows)
        problems = [found for found in problems if found.id in EMPTY] + [
            _waiting(found) for found in checked.diagnostics
        ]
        if any(found.severity is Severity.ERROR for found in problems):
            return None, problems
    if rows != "look":
        problems += check_prompts(request, first_rows(checked))
        if any(found.severity is Severity.ERROR for found in problems):
            return None, problems
    counted = checked.exact and (bool(checked.files) or not request.pipeline)
    return RowPlan(
        request,
        checked.train_rows if counted else None,
        checked.validation_rows if counted and "dataset.validation" in paths else None,
        paths,
        files,
        checked.files,
    ), problems


def _built(request: DatasetRequest, rows: Rows) -> BuildResult:
    from orbiter_spec.data.cache import cached_build

    try:
        return cached_build(request, offline=rows != "ask")
    except OSError as error:
        place = request.pipeline[-1].place
        found = Diagnostic("ORB443", f"rows cannot be built: {error.strerror or error}", place, help=DISK_HELP)
        return BuildResult(0, 0, (found,))


def write_rows(plan: RowPlan, stage: Path, *, ask: bool = False) -> list[Diagnostic]:
    """Build the rows below `stage`; nothing to do for prepared files.

    A teacher is asked only with `ask`; otherwise, rows that need answers it has not given yet are not written, and a
    warning says so.
    """
    if plan.request is None:
        return []
    if plan.built:
        (stage / "data").mkdir(parents=True)
        for path in plan.built:
            shutil.copyfile(path, stage / "data" / path.name)
        return []
    from orbiter_spec.data.build import build, step_context

    context = replace(step_context(plan.request), offline=not ask)
    return [_waiting(found) for found in build(plan.request, stage / "data", context=context).diagnostics]


def _waiting(found: Diagnostic) -> Diagnostic:
    if found.id != WAITING:
        return found
    help = "orbiter-spec data build asks for them, and so does run"
    return replace(found, severity=Severity.WARNING, note="the compiled folder has no data/", help=help)


def request_rows(experiment: Experiment, document: Document) -> DatasetRequest:
    """The dataset section with every path resolved and every place looked up."""
    dataset, agent = experiment.dataset, experiment.agent
    validation = dataset.validation
    share = validation.fraction if isinstance(validation, Validation) else None
    seed = dataset.seed if dataset.seed is not None else experiment.seed
    return DatasetRequest(
        train=tuple(_sources(dataset.train, ("dataset", "train"), document)),
        validation=tuple(_validation_sources(validation, document)),
        fraction=share,
        held_out=_held_out(validation),
        validation_limit=validation.limit if isinstance(validation, Validation) else None,
        seed=seed if isinstance(seed, int) else DRAW_SEED,
        columns=_columns(experiment, document),
        prompt=_template(agent.prompt, ("agent", "prompt"), document),
        instructions=_template(agent.instructions, ("agent", "instructions"), document),
        pipeline=tuple(_steps(experiment, document)),
        folder=document.base(("dataset",)),
        tokenizer=_tokenizer(experiment, document),
        prompt_tokens=agent.limits.prompt_tokens if agent.limits is not None else None,
        place=document.place(("dataset", "train")),
    )


def _tokenizer(experiment: Experiment, document: Document) -> TokenizerRequest:
    """What verl tokenises prompts with: the dataset's tokenizer, else the model's; a folder by its whole path."""
    model, dataset = experiment.agent.model, experiment.dataset
    route: Route = ("agent", "model", "path")
    name = model.path
    if model.tokenizer is not None:
        name, route = model.tokenizer, ("agent", "model", "tokenizer")
    if dataset.tokenizer is not None:
        name, route = dataset.tokenizer, ("dataset", "tokenizer")
    folder = document.base(route) / Path(name).expanduser()
    return TokenizerRequest(
        str(folder.absolute()) if folder.is_dir() else name,
        model.chat_template,
        experiment.agent.chat_template_args or {},
        bool(dataset.trust_remote_code or model.trust_remote_code),
        document.place(route),
    )


def _held_out(validation: Validation | list[Source] | None) -> tuple[str, str] | None:
    if not isinstance(validation, Validation) or validation.column is None:
        return None
    return validation.column, validation.value or "validation"


def _validation_sources(validation: Validation | list[Source] | None, document: Document) -> Iterator[SourceRequest]:
    route: Route = ("dataset", "validation")
    if isinstance(validation, list):
        yield from _sources(validation, route, document)
    elif validation is not None and validation.path is not None:
        named = validation.path
        yield from _sources([Source(path=named)] if isinstance(named, str) else named, (*route, "path"), document)


def _sources(sources: Source | list[Source], route: Route, document: Document) -> Iterator[SourceRequest]:
    listed = sources if isinstance(sources, list) else [sources]
    for index, source in enumerate(listed):
        own: Route = (*route, index) if isinstance(sources, list) else route
        base = document.base(own)
        written = source.path or (source.run.path if source.run is not None else source.hub.name if source.hub else "")
        path = (base / Path(written).expanduser()).absolute()
        kind = "path" if source.path is not None else "run" if source.run is not None else "hub"
        asked = SourceRequest(
            path=path,
            limit=source.limit,
            place=document.place((*own, kind)),
            name=source.name,
            shown=_shown(path, base) if source.hub is None else written,
            written=written,
            run=_selection(source.run),
            hub=_hub(source.hub),
            group=index,
            group_limit=source.limit,
            weight=source.weight,
        )
        yield from _parts(asked, base) if kind == "path" else (asked,)


def _parts(source: SourceRequest, base: Path) -> Iterator[SourceRequest]:
    """The files that a pattern or a folder means, named after it; what means one file is that file."""
    files = matching_files(source.path)
    if files == [source.path] or not files:
        yield source
        return
    folder = source.path if source.path.is_dir() else source.path.parent
    for file in files:
        yield replace(source, path=file, shown=_shown(file, base), name=source.name or folder.name)


def _hub(hub: Hub | None) -> HubRequest | None:
    return None if hub is None else HubRequest(hub.name, hub.config, hub.split or "train")


def _selection(run: RunRecords | None) -> Selection | None:
    if run is None:
        return None
    given = run.model_dump(exclude_none=True, include={"min_score", "max_score"})
    best = None if run.best == "all" else run.best or 1
    return Selection(split=run.answers or "train", best=best, **given)


def _shown(path: Path, base: Path) -> str:
    """The file as rows name it: relative to the spec that names it, or by its bare name when on another drive."""
    try:
        return Path(os.path.relpath(path, base)).as_posix()
    except ValueError:
        return path.name


def _steps(experiment: Experiment, document: Document) -> Iterator[StepRequest]:
    for index, step in enumerate(experiment.dataset.pipeline or ()):
        settings = getattr(step, step.name).model_dump(exclude_none=True)
        yield StepRequest(step.name, settings, document.place(("dataset", "pipeline", index, step.name)))


def _columns(experiment: Experiment, document: Document) -> Columns:
    named = experiment.dataset.columns
    if named is None:
        return Columns()
    values: dict[str, Any] = named.model_dump(exclude_none=True, include=COLUMN_ROLES)
    places = {name: document.place(("dataset", "columns", name)) for name in values}
    return Columns(**values, places=places)


def _template(text: str | None, route: Route, document: Document) -> TemplateRequest | None:
    return None if text is None else TemplateRequest(text, document.place(route))


def _prepared(
    experiment: Experiment, request: DatasetRequest, files: tuple[Path, ...]
) -> tuple[RowPlan | None, list[Diagnostic]]:
    """Files verl reads where they are."""
    problems, good = check_prepared(experiment, request.train, request.validation)
    if not good:
        return None, problems
    paths: dict[str, Any] = {"dataset.train": [_as_verl_sees(source) for source in request.train]}
    if request.validation:
        paths["dataset.validation"] = [_as_verl_sees(source) for source in request.validation]
    here = tuple(path for path in files if path.is_file())
    return RowPlan(None, count_rows(request.train), count_rows(request.validation), paths, here), problems


def _as_verl_sees(source: SourceRequest) -> str:
    return str(source.path) if source.path.is_file() else source.written
