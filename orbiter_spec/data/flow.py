"""Batches through the steps of a pipeline: runs of row steps in several processes, stream steps here and in order.

What comes out does not depend on the number of processes: a batch is cut by the rows that come in, a row step knows
nothing beside its row, and results are taken in order.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from orbiter_spec.data.checkpoint import Checkpoint
from orbiter_spec.data.pipeline import OPAQUE, Context, Rows, RowStep, StreamStep, blamed, make_steps
from orbiter_spec.data.request import StepReport, StepRequest
from orbiter_spec.data.row_work import Done, RowWork

if TYPE_CHECKING:
    from orbiter_spec.data.workers import Workers


@dataclass
class Flow:
    """How steps are run: in `workers` processes, and with their results kept in `checkpoints` (None: nowhere)."""

    context: Context
    workers: int = 1
    checkpoints: Path | None = None
    reports: list[StepReport] = field(default_factory=list)

    def run(self, batches: Iterable[Rows], requests: Sequence[StepRequest]) -> Iterator[Rows]:
        """The rows after all steps; `reports` are complete when they have all been taken. Raises `StepError`."""
        self.reports = [StepReport(request.name) for request in requests]
        flow = iter(batches)
        group: list[int] = []
        for index, step in enumerate(make_steps(requests, self.context)):
            if self.context.light and requests[index].name in OPAQUE:
                return _looked_at(self._rows(flow, group, group, requests))
            if isinstance(step, RowStep):
                group.append(index)
                continue
            prepared = [index] if hasattr(step, "prepare") else []
            flow = self._rows(flow, group, [*group, *prepared], requests)
            flow = _stream(flow, requests[index], step, self.reports[index])
            group = []
        return self._rows(flow, group, group, requests)

    def _rows(
        self, batches: Iterator[Rows], reported: list[int], run: list[int], requests: Sequence[StepRequest]
    ) -> Iterator[Rows]:
        """One run of row steps. `run` are the steps that take part, `reported` those of them that report."""
        if not run:
            return batches
        from orbiter_spec.data.workers import Workers

        workers = Workers(RowWork, ([requests[index] for index in run], replace(self.context, aside=[])), self.workers)
        kept = Checkpoint(self.checkpoints / str(run[0])) if self.checkpoints is not None else None
        return self._results(batches, workers, kept, [self.reports[index] for index in reported])

    def _results(
        self, batches: Iterator[Rows], workers: Workers, kept: Checkpoint | None, reports: list[StepReport]
    ) -> Iterator[Rows]:
        with workers:
            for batch, parts in _kept(batches, workers, kept):
                for report, part in zip(reports, parts, strict=True):
                    report.merge(part)
                yield batch


def _kept(batches: Iterator[Rows], workers: Workers, kept: Checkpoint | None) -> Iterator[Done]:
    """Results that were kept, then the ones that are missing; the batches of the first are passed over."""
    done = 0
    for payload in kept.stored() if kept is not None else ():
        done += 1
        yield pickle.loads(payload)
    for payload in workers.results(islice(batches, done, None)):
        result = pickle.loads(payload)
        if isinstance(result, Exception):
            raise result
        if kept is not None:
            kept.add(payload)
        yield result


def _looked_at(batches: Iterator[Rows]) -> Iterator[Rows]:
    """Nothing, after everything that can be known of the rows before."""
    for _ in batches:
        pass
    yield from ()


def _stream(batches: Iterator[Rows], request: StepRequest, step: StreamStep, report: StepReport) -> Iterator[Rows]:
    with blamed(request):
        for batch in step.stream(_counted(batches, report), report):
            report.rows_out += len(batch)
            yield batch


def _counted(batches: Iterator[Rows], report: StepReport) -> Iterator[Rows]:
    for batch in batches:
        report.rows_in += len(batch)
        yield batch
