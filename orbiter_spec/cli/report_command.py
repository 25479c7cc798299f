"""`orbiter-spec report`: one page about one run, or several compared."""

from __future__ import annotations

from pathlib import Path

import click

from orbiter_spec.cli.output import Exit, print_report, stop

MOST_RUNS = 12


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The HTML file. Left out: report.html in the run folder; for several runs, here.",
)
def command(runs: tuple[Path, ...], output: Path | None) -> None:
    """Write what happened in RUN as one self-contained HTML file, and its plots as PNG beside it."""
    from orbiter_spec.diagnostics import Report
    from orbiter_spec.report.images import write_images
    from orbiter_spec.report.page import write_page
    from orbiter_spec.report.run_view import read_runs

    if len(runs) > MOST_RUNS:
        raise click.UsageError(f"at most {MOST_RUNS} runs are compared in one report")
    views, problems = read_runs(list(runs))
    if problems:
        print_report(Report.of(problems), "text")
        stop(Exit.SPEC)
    path = output or (views[0].folder.path / "report.html" if len(views) == 1 else Path("report.html"))
    plots = path.with_name(f"{path.stem}-plots")
    try:
        write_page(path, views)
        images = write_images(plots, views)
    except OSError as error:
        raise click.ClickException(f"{error.filename or path}: {error.strerror or error}") from None
    click.echo(f"report: {path}")
    click.echo(f"plots: {len(images)} images in {plots}" if images else _no_images(bool(views[0].records)))


def _no_images(measured: bool) -> str:
    return "plots: none, matplotlib is not installed" if measured else "plots: none, no step was measured"
