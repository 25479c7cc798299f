"""`orbiter-spec stop`: end a run."""

from __future__ import annotations

import click

from orbiter_spec.cli.output import Exit, stop
from orbiter_spec.cli.run_folders import folder_of


@click.command()
@click.argument("run", metavar="RUN")
def command(run: str) -> None:
    """Stop RUN, here or on its cluster, and wait until it has ended; resume goes on with it."""
    from orbiter_spec.launch import control

    answer = control.stop(folder_of(run))
    click.echo(answer.text, err=not answer.ok)
    stop(Exit.DONE if answer.ok else Exit.RUN)
