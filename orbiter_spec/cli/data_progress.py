"""Progress of data work: a bar on a terminal, a line now and then in a log, nothing for what is over at once."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from orbiter_spec.data.building import Progress
    from orbiter_spec.data.request import DatasetRequest

QUIET_SECONDS = 1.0
LINE_SECONDS = 10.0


@contextmanager
def building(request: DatasetRequest) -> Iterator[Callable[[Progress], None]]:
    """What a build is to call: rows read and built, and how far the last step is."""
    with _shown(_rows_to_read(request) if sys.stderr.isatty() else None, "building rows") as show:

        def progress(now: Progress) -> None:
            step = next((one for one in reversed(now.steps) if one.rows_in), None)
            said = f", {step.name} {step.rows_out:,} of {step.rows_in:,}" if step is not None else ""
            show(now.rows_read, f"{now.rows_built:,} built{said}")

        yield progress


@contextmanager
def counting(total: int) -> Iterator[Callable[[int], None]]:
    """What counting is to call, with rows counted since the last call."""
    done = 0
    with _shown(total, "counting rows") as show:

        def advance(rows: int) -> None:
            nonlocal done
            done += rows
            show(done, "")

        yield advance


def _rows_to_read(request: DatasetRequest) -> int | None:
    from dataclasses import replace

    from orbiter_spec.data.build import check

    counted = check(replace(request, pipeline=(), fraction=None))
    return counted.train_rows + counted.validation_rows or None


@contextmanager
def _shown(total: int | None, title: str) -> Iterator[Callable[[int, str], None]]:
    if sys.stderr.isatty():
        with _bar(total, title) as show:
            yield show
        return
    began = last = time.monotonic()

    def line(rows: int, said: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - began > QUIET_SECONDS and now - last > LINE_SECONDS:
            last = now
            of = f" of {total:,}" if total else ""
            click.echo(f"{title}: {rows:,}{of} {said}".rstrip(), err=True)

    yield line


@contextmanager
def _bar(total: int | None, title: str) -> Iterator[Callable[[int, str], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[said]}"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total, said="")
        yield lambda rows, said: bar.update(task, completed=rows, said=said)
