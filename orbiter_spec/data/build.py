"""Build verl's Parquet files from a dataset request, or only check that they could be built.

Every problem of every file is found in one pass; nothing appears under its own name unless there is none. Rows are
made in bulk where there is nothing to find fault with, and row by row to say what there is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from orbiter_spec.data.building import Build, Progress
from orbiter_spec.data.empty_columns import EmptyColumns, Use
from orbiter_spec.data.flow import Flow
from orbiter_spec.data.pipeline import Context
from orbiter_spec.data.remembered import remembered
from orbiter_spec.data.request import BuildResult, DatasetRequest


def build(
    request: DatasetRequest,
    out: Path,
    *,
    context: Context | None = None,
    workers: int = 1,
    checkpoints: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> BuildResult:
    """Write `train.parquet` and, where the request has validation rows, `validation.parquet` into `out`.

    With problems, no file is written or replaced and `files` is empty. Errors of the disk are raised as OSError.
    `context` is what steps of the pipeline may know; left out, they know the request. Steps run in as many processes as
    `workers`, with the same bytes for any number. With `checkpoints`, a folder, a build that was killed goes on where
    it was. `progress` is called after every batch.
    """
    from orbiter_spec.data.blocks import NotPlainError
    from orbiter_spec.data.bulk import Bulk, is_plain

    known = context or step_context(request)
    if is_plain(request):
        with suppress(NotPlainError):
            return Bulk(request, out, False, Flow(replace(known, aside=[]), workers, checkpoints), progress).run()
    return Build(request, out, False, Flow(replace(known, aside=[]), workers), progress).run()


def check(request: DatasetRequest, *, quick: bool = True, uses: tuple[Use, ...] = ()) -> BuildResult:
    """The same findings and counts, without writing, and what is empty of the columns that `uses` name.

    `quick` reads the first 10 MB of each file and renders the prompts of its first 200 rows. The rows of a larger file
    are counted without being read where its format allows it, and otherwise estimated. With a pipeline it looks at
    the first 200 rows of each source, as far as the first step that would run code of the user's; how many rows a
    pipeline leaves is not known before it has run. What found nothing is not looked at again in this process.
    """

    def look() -> BuildResult:
        empty = EmptyColumns(request, uses)
        return Build(request, None, quick=quick, flow=Flow(step_context(request, light=quick)), empty=empty).run()

    return remembered(request, (quick, uses), look)


def step_context(request: DatasetRequest, *, light: bool = False) -> Context:
    """What steps know of `request`."""
    return Context(seed=request.seed, columns=request.columns, folder=request.folder, light=light, request=request)
