"""Build verl's Parquet files from a dataset request, or only check that they could be built.

Every problem of every file is found in one pass; nothing appears under its own name unless there is none. A share set
aside for validation needs the number of rows first, so that case reads the training files twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from orbiter_spec.data.convert import Converter, VerlRow
from orbiter_spec.data.problems import Problems
from orbiter_spec.data.read import Row, read_rows, suffix_of
from orbiter_spec.data.request import BuildResult, DatasetRequest, SourceRequest
from orbiter_spec.data.split import choose_validation, validation_count

TRAIN, VALIDATION = "train", "validation"
QUICK_BYTES = 20_000_000
"""A quick check reads so much of each file, and estimates how many rows the rest has."""
QUICK_PARQUET_ROWS = 2_000
QUICK_RENDERED_ROWS = 200


def build(request: DatasetRequest, out: Path, *, quick: bool = False) -> BuildResult:
    """Write `train.parquet` and, where the request has validation rows, `validation.parquet` into `out`.

    With problems, no file is written or replaced and `files` is empty. Errors of the disk are raised as OSError.
    """
    return _Build(request, out, quick).run()


def check(request: DatasetRequest, *, quick: bool = True) -> BuildResult:
    """The same findings and counts, without writing.

    `quick` reads the first 20 MB of each file, renders the prompts of its first 200 rows, and estimates the counts of
    larger files (`exact` is then False).
    """
    return _Build(request, None, quick).run()


@dataclass
class _Build:
    request: DatasetRequest
    out: Path | None
    quick: bool
    problems: Problems = field(default_factory=Problems)
    written: list[Path] = field(default_factory=list)
    read: dict[SourceRequest, int] = field(default_factory=dict)

    def run(self) -> BuildResult:
        self.converter = Converter(self.request, self.problems)
        try:
            if self.request.fraction is None:
                train, validation = self._separate()
            else:
                train, validation = self._divided(self.request.fraction)
            self._report_empty()
        except BaseException:
            self._publish(keep=False)
            raise
        self._publish(keep=not self.problems.any)
        return BuildResult(
            *(self._estimate(train, validation)),
            self.problems.diagnostics(),
            () if self.problems.any else tuple(self.written),
            not any(self._is_cut(source) for source in self._sources()),
        )

    def _separate(self) -> tuple[int, int]:
        """Training and validation rows from files of their own."""
        train = self._consume(self._converted(_rows(self, self.request.train), TRAIN), TRAIN)
        rows = _first(_rows(self, self.request.validation), self.request.validation_limit)
        validation = self._consume(self._converted(rows, VALIDATION), VALIDATION) if self.request.validation else 0
        return train, validation

    def _divided(self, fraction: float) -> tuple[int, int]:
        """One pass to count, then one to convert for each side, which keeps their files in order."""
        quiet = _again(self)
        total = sum(1 for _ in _rows(quiet, self.request.train))
        count = validation_count(total, fraction, self.request.validation_limit)
        chosen = choose_validation(total, count, self.request.seed)
        kept = (row for position, row in enumerate(_rows(self, self.request.train)) if position not in chosen)
        train = self._consume(self._converted(kept, TRAIN), TRAIN)
        aside = (row for position, row in enumerate(_rows(quiet, self.request.train)) if position in chosen)
        return train, self._consume(self._converted(aside, VALIDATION), VALIDATION)

    def _converted(self, rows: Iterable[Row], split: str) -> Iterator[VerlRow]:
        index = 0
        for row in rows:
            if not self.converter.usable(row):
                continue
            render = not self.quick or row.number <= QUICK_RENDERED_ROWS
            converted = self.converter.convert(row, index, split, render=render)
            if converted is not None:
                index += 1
                yield converted

    def _consume(self, rows: Iterator[VerlRow], split: str) -> int:
        """Write the rows, or run through them; once there is a problem they are only run through."""
        if self.out is None:
            return sum(1 for _ in rows)
        from orbiter_spec.data.write import UnfitRowsError, write_parquet

        path = self.out / f"{split}.parquet"
        self.written.append(path)
        try:
            return write_parquet(rows, path)
        except UnfitRowsError as error:
            sources = self.request.validation if split == VALIDATION and self.request.validation else self.request.train
            self.problems.add(sources[0], "ORB416", f"rows do not fit together: {error}")
            return 0

    def _publish(self, *, keep: bool) -> None:
        from orbiter_spec.data.write import publish

        for path in self.written:
            publish(path, keep=keep)

    def _sources(self) -> tuple[SourceRequest, ...]:
        return (*self.request.train, *self.request.validation)

    def _report_empty(self) -> None:
        failed = {source for source, _ in self.problems.counts}
        for source in self._sources():
            if not self.read.get(source) and source not in failed:
                help = "give the file rows, or leave it out of the dataset"
                self.problems.add(source, "ORB413", f"dataset has no rows: {source.label}", help=help)
        if self.request.fraction is not None and not self.problems.any and self.read_total() < 2:
            message = "dataset has one row, and a share of it cannot be set aside"
            self.problems.add(self.request.train[0], "ORB413", message, help="leave validation out, or name a file")

    def read_total(self) -> int:
        """Training rows read so far."""
        return sum(self.read.get(source, 0) for source in self.request.train)

    def _is_cut(self, source: SourceRequest) -> bool:
        """Whether a quick check leaves rows of `source` unread, as far as its size tells."""
        if not self.quick or not source.path.is_file() or source.path.stat().st_size <= QUICK_BYTES:
            return False
        return source.limit is None or source.limit > self.read.get(source, 0)

    def _estimate(self, train: int, validation: int) -> tuple[int, int]:
        """Counts scaled from what was read to the whole of the files that were cut."""
        whole = sum(self._whole(source) for source in self.request.train)
        seen = self.read_total()
        train = round(train * whole / seen) if seen else train
        if self.request.fraction is not None:
            aside = round(validation * whole / seen) if seen else validation
            limit = self.request.validation_limit
            return train, aside if limit is None else min(aside, limit)
        whole = sum(self._whole(source) for source in self.request.validation)
        seen = sum(self.read.get(source, 0) for source in self.request.validation)
        validation = round(validation * whole / seen) if seen else validation
        return train, min(validation, self.request.validation_limit or validation)

    def _whole(self, source: SourceRequest) -> int:
        seen = self.read.get(source, 0)
        if not seen or not self._is_cut(source):
            return seen
        if suffix_of(source.path) == ".parquet":
            from pyarrow import parquet

            rows = int(parquet.read_metadata(source.path).num_rows)
        else:
            rows = round(seen * source.path.stat().st_size / QUICK_BYTES)
        return min(rows, source.limit or rows)


def _again(build: _Build) -> _Build:
    """The same build for a second reading, whose problems are those of the first."""
    return replace(build, problems=Problems(), written=[], read={})


def _rows(build: _Build, sources: Iterable[SourceRequest]) -> Iterator[Row]:
    """Rows of all sources, counted in `build.read`."""
    for source in sources:
        asked = source
        if build.quick and suffix_of(source.path) == ".parquet" and _size(source.path) > QUICK_BYTES:
            asked = replace(source, limit=min(source.limit or QUICK_PARQUET_ROWS, QUICK_PARQUET_ROWS))
        for row in read_rows(asked, build.problems, stop_at=QUICK_BYTES if build.quick else math.inf):
            build.read[source] = build.read.get(source, 0) + 1
            yield replace(row, source=source) if asked is not source else row


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _first(rows: Iterator[Row], limit: int | None) -> Iterator[Row]:
    for position, row in enumerate(rows):
        if limit is not None and position >= limit:
            return
        yield row
