"""`orbiter-spec logs`: what verl printed."""

from __future__ import annotations

import click

from orbiter_spec.cli.output import Exit, stop
from orbiter_spec.cli.run_folders import folder_of


@click.command()
@click.argument("run", metavar="RUN")
@click.option("-f", "--follow", is_flag=True, help="Go on until the run has ended.")
def command(run: str, follow: bool) -> None:
    """Print what verl printed in RUN, from wherever it runs."""
    from orbiter_spec.launch.control import log_text
    from orbiter_spec.launch.job_server import ClusterError

    try:
        for text in log_text(folder_of(run), follow=follow):
            click.echo(text, nl=False)
    except KeyboardInterrupt:
        stop(Exit.INTERRUPTED)
    except ClusterError as error:
        click.echo(f"error[ORB533]: {error}", err=True)
        stop(Exit.RUN)
