"""One build, row by row and in order: what every problem is found by, and what a check looks at.

A share set aside for validation needs the number of rows first: without a pipeline the training files are read once
more, after one its rows wait on disk.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from orbiter_spec.data.columns import ABSENT, look_up
from orbiter_spec.data.convert import Converter, VerlRow
from orbiter_spec.data.draw import Chosen
from orbiter_spec.data.empty_columns import EmptyColumns
from orbiter_spec.data.findings import findings
from orbiter_spec.data.flow import Flow
from orbiter_spec.data.mixing import choose
from orbiter_spec.data.overlap import measure_overlap
from orbiter_spec.data.pipeline import OPAQUE, Rows, StepError, in_batches
from orbiter_spec.data.problems import Problems
from orbiter_spec.data.quick import QUICK_BYTES, QUICK_RENDERED_ROWS, can_count, count_rows, is_cut, quick_source
from orbiter_spec.data.read import Row, read_rows
from orbiter_spec.data.request import BuildResult, DatasetRequest, SourceRequest, StepReport
from orbiter_spec.data.split import validation_count
from orbiter_spec.data.spool import spooled
from orbiter_spec.data.write import ParquetSink, UnfitRowsError

TRAIN, VALIDATION = "train", "validation"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build is: rows read, rows built, and the steps with what they have done so far."""

    rows_read: int
    rows_built: int
    steps: tuple[StepReport, ...]


@dataclass
class Build:
    """A build that looks at every row here and in order, or a check; `data.bulk` is the quick way to the same files."""

    request: DatasetRequest
    out: Path | None
    quick: bool
    flow: Flow
    progress: Callable[[Progress], None] | None = None
    problems: Problems = field(default_factory=Problems)
    sinks: dict[str, ParquetSink] = field(default_factory=dict)
    read: Counter[tuple[str, SourceRequest]] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    samples: list[VerlRow] = field(default_factory=list)
    empty: EmptyColumns | None = None

    def run(self) -> BuildResult:
        """The result; files have their names when there is nothing to find fault with."""
        self.converter = Converter(self.request, self.problems)
        files: tuple[Path, ...] = ()
        facts: dict[str, Any] = {}
        try:
            self._take_all()
            self._report_empty()
            if not self.problems.any:
                facts, files = self._finish()
        except UnfitRowsError as error:
            self.problems.add(self.request.train[0], "ORB416", f"rows do not fit together: {error}")
        except StepError as error:
            place = error.request.place if error.request is not None else None
            self.problems.add(
                self.request.train[0], error.id, str(error), place=place, note=error.note, help=error.help
            )
        finally:
            for sink in self.sinks.values():
                sink.discard()
            for spool in self.flow.context.aside:
                spool.close()
        train, validation = self._counts()
        exact = all(can_count(source) for _, source in self._sources() if self.quick and is_cut(source))
        unknown = self.request.pipeline or any(source.hub or source.weight for source in self.request.train)
        exact = exact and not (self.quick and unknown)
        found = (*self.problems.diagnostics(), *findings(self.request, facts))
        if self.empty is not None and not self.problems.any:
            found = (*found, *self.empty.findings())
        return BuildResult(train, validation, found, files, exact, tuple(self.flow.reports), facts, tuple(self.samples))

    def _take_all(self) -> None:
        with ExitStack() as stack:
            self._take_training(stack)
        for row in _first(self._rows(VALIDATION, self.request.validation), self.request.validation_limit):
            self._take(row, VALIDATION)

    def _take_training(self, stack: ExitStack) -> None:
        aside: Container[int]
        if not self.request.pipeline:
            aside = self._choose()
            self._deal(self._mixed(), aside)
            return
        rows: Iterable[Row] = self._through_steps()
        if self.request.fraction is not None and self.out is not None:
            spool = stack.enter_context(spooled(in_batches(rows), self.flow.context.scratch))
            count = validation_count(spool.rows, self.request.fraction, self.request.validation_limit)
            aside = Chosen(spool.rows, count, self.request.seed)
            self._deal(chain.from_iterable(spool), aside)
        else:
            self._deal(rows, frozenset())
        for batches in self.flow.context.aside:
            for row in chain.from_iterable(batches):
                self._take(row, VALIDATION)

    def _deal(self, rows: Iterable[Row], aside: Container[int]) -> None:
        for position, row in enumerate(rows):
            self._take(row, VALIDATION if position in aside or self._is_held_out(row) else TRAIN)

    def _is_held_out(self, row: Row) -> bool:
        if self.request.held_out is None:
            return False
        column, value = self.request.held_out
        said = look_up(row.fields, column)
        if said is ABSENT:
            help = f"the row has {', '.join(list(row.fields)[:12])}"
            message = f"row has no {column}, which says what is for validation"
            self.problems.add_row(row.source, "ORB411", message, row.number, row.line, help=help)
        return said == value or str(said) == value

    def _through_steps(self) -> Iterator[Row]:
        batches: Iterator[Rows] = iter(in_batches(self._mixed()))
        return chain.from_iterable(self._told(self.flow.run(self._told(batches), self.request.pipeline)))

    def _told(self, batches: Iterator[Rows]) -> Iterator[Rows]:
        """Batches, with progress told after each."""
        for batch in batches:
            yield batch
            if self.progress is not None:
                self.progress(self._so_far())

    def _so_far(self) -> Progress:
        return Progress(self.read.total(), self.rows.total(), tuple(self.flow.reports))

    def _finish(self) -> tuple[dict[str, Any], tuple[Path, ...]]:
        """Facts about the rows, and the files: all are complete before the first gets its name."""
        for sink in self.sinks.values():
            sink.close()
        files = [self.sinks[split].unfinished for split in (TRAIN, VALIDATION) if split in self.sinks]
        facts = {"overlap": measure_overlap(*files)} if set(self.sinks) == {TRAIN, VALIDATION} else {}
        return facts, tuple(sink.publish() for sink in self.sinks.values())

    def _choose(self) -> Container[int]:
        """Positions of the training rows that are set aside; a check counts them and does not move them."""
        if self.request.fraction is None or self.out is None:
            return frozenset()
        quiet = replace(self, problems=Problems(), read=Counter())
        total = sum(1 for _ in quiet._mixed())
        count = validation_count(total, self.request.fraction, self.request.validation_limit)
        return Chosen(total, count, self.request.seed)

    def _mixed(self) -> Iterator[Row]:
        """Training rows by the weights of their sources; a quick check counts all of them."""
        weights = {source.group: source.weight for source in self.request.train if source.weight is not None}
        if not weights or self.quick:
            yield from self._rows(TRAIN, self.request.train)
            return
        quiet = replace(self, problems=Problems(), read=Counter())
        counts = Counter(row.source.group for row in quiet._rows(TRAIN, self.request.train))
        chosen = choose(counts, weights, self.request.seed)
        positions: Counter[int] = Counter()
        for row in self._rows(TRAIN, self.request.train):
            group = row.source.group
            if positions[group] in chosen[group]:
                yield row
            positions[group] += 1

    def _rows(self, split: str, sources: Iterable[SourceRequest]) -> Iterator[Row]:
        """Rows of all sources in order, as many of each entry of the spec as it asks for."""
        taken: Counter[int] = Counter()
        for source in sources:
            left = math.inf if source.group_limit is None else source.group_limit - taken[source.group]
            if left <= 0 or (self.quick and source.hub is not None):
                continue
            for row in islice(self._rows_of(source), None if left == math.inf else int(left)):
                taken[source.group] += 1
                self.read[split, source] += 1
                yield row

    def _rows_of(self, source: SourceRequest) -> Iterator[Row]:
        asked = quick_source(source, few=bool(self.request.pipeline)) if self.quick else source
        for row in read_rows(asked, self.problems, stop_at=QUICK_BYTES if self.quick else math.inf):
            yield replace(row, source=source) if asked is not source else row

    def _take(self, row: Row, split: str) -> None:
        """Convert a row and hand it to its file; a quick check looks at most rows only as far as their columns."""
        if not self.converter.usable(row):
            return
        if self.empty is not None:
            self.empty.look(row, split)
        if self.quick and row.number > QUICK_RENDERED_ROWS:
            self.rows[split] += self.converter.check(row)
            return
        converted = self.converter.convert(row, self.rows[split], split)
        if converted is None:
            return
        self.rows[split] += 1
        if self.quick and split == TRAIN:
            self.samples.append(converted)
        if self.out is not None and not self.problems.any:
            if split not in self.sinks:
                self.sinks[split] = ParquetSink(self.out / f"{split}.parquet")
            self.sinks[split].add(converted)

    def _sources(self) -> Iterator[tuple[str, SourceRequest]]:
        yield from ((TRAIN, source) for source in self.request.train)
        yield from ((VALIDATION, source) for source in self.request.validation)

    def _report_empty(self) -> None:
        failed = {source for source, _ in self.problems.counts}
        for key in self._sources():
            silent = (self.quick and key[1].hub is not None) or key[1].group_limit is not None
            if not self.read[key] and key[1] not in failed and not silent:
                message = f"dataset has no rows: {key[1].label}"
                self.problems.add(key[1], "ORB413", message, help="give the file rows, or leave it out")
        if self.out is not None and self.flow.reports and not self.rows[TRAIN] and not self.problems.any:
            place = self.request.pipeline[-1].place
            message = "the pipeline leaves no rows to train on"
            self.problems.add(self.request.train[0], "ORB413", message, place=place, note=_dropped(self.flow.reports))
        if self.request.fraction is not None and not self._unseen() and not self.problems.any and self.rows.total() < 2:
            message = "dataset has one row, and a share of it cannot be set aside"
            self.problems.add(self.request.train[0], "ORB413", message, help="leave validation out, or name a file")

    def _unseen(self) -> bool:
        """Whether a look ends before the rows do: at a step that only a build takes."""
        return self.flow.context.light and any(step.name in OPAQUE for step in self.request.pipeline)

    def _counts(self) -> tuple[int, int]:
        """Training and validation rows, scaled from what was read to the whole of the files that were cut."""
        train, validation = (self._scaled(split) for split in (TRAIN, VALIDATION))
        limit = self.request.validation_limit
        if self.request.fraction is not None and self.out is None:
            validation = validation_count(train, self.request.fraction, limit)
            train -= validation
        return train, min(validation, limit or validation)

    def _scaled(self, split: str) -> int:
        read = {source: self.read[key, source] for key, source in self._sources() if key == split}
        seen, good = sum(read.values()), self.rows[split]
        if not self.quick or not any(map(is_cut, read)):
            return good
        return round(good * sum(count_rows(source, rows) for source, rows in read.items()) / seen) if seen else good


def _dropped(steps: Iterable[StepReport]) -> str:
    """The commonest reasons why rows were dropped, with their numbers."""
    reasons = Counter[str]()
    for step in steps:
        reasons.update({f"{step.name}: {reason}": count for reason, count in step.reasons.items()})
    return "; ".join(f"{count} {reason}" for reason, count in reasons.most_common(3))


def _first(rows: Iterator[Row], limit: int | None) -> Iterator[Row]:
    for count, row in enumerate(rows, start=1):
        yield row
        if count == limit:
            return
