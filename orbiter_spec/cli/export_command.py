"""`orbiter-spec export`: trained weights as a Hugging Face folder."""

from __future__ import annotations

from pathlib import Path

import click

from orbiter_spec.cli.output import Exit, print_report, stop


@click.command()
@click.argument("checkpoint", metavar="RUN[@STEP]")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="An empty or new folder.")
def command(checkpoint: str, output: Path) -> None:
    """Merge a checkpoint of RUN, the last whole one or that of STEP, into a folder that transformers loads."""
    from orbiter_spec.diagnostics import Report
    from orbiter_spec.launch.chosen import NoCheckpointError, choose_checkpoint
    from orbiter_spec.launch.export import export, refuse_export

    try:
        _, config, found = choose_checkpoint(checkpoint)
    except NoCheckpointError as missing:
        print_report(Report.of([missing.diagnostic]), "text")
        stop(Exit.SPEC)
    problem = refuse_export(config, found, output)
    if problem:
        print_report(Report.of([problem]), "text")
        stop(Exit.SPEC)
    click.echo(f"merging step {found.step} with verl's merger", err=True)
    try:
        problem = export(config, found, output)
    except OSError as error:
        raise click.ClickException(f"{error.filename or output}: {error.strerror or error}") from None
    if problem:
        print_report(Report.of([problem]), "text")
        stop(Exit.RUN)
    click.echo(f"exported: {output}")
