"""`orbiter-spec resume`: go on with a run."""

from __future__ import annotations

import click

from orbiter_spec.cli.run_command import go
from orbiter_spec.cli.run_folders import folder_of


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--detach", is_flag=True, help="Return once the run is on its way.")
def command(run: str, detach: bool) -> None:
    """Go on with RUN from its last whole checkpoint; a run that is going on is followed."""
    go(str(folder_of(run).path), resume=True, detach=detach)
