"""`orbiter-spec runs`: what ran and what is running."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("runs"))
def command(folder: Path) -> None:
    """List the run folders below FOLDER with their state and step."""
    from orbiter_spec.launch.run_folder import list_runs

    runs = list_runs(folder)
    if not runs:
        click.echo(f"no runs below {folder}")
    for run in runs:
        status = run.status
        step = f"step {status.step}" if status and status.step is not None else ""
        total = f" of {status.total_steps}" if status and status.total_steps else ""
        reason = f"  {status.reason}" if status and status.reason else ""
        click.echo(f"{run.folder.name:40} {run.state:12} {step}{total}{reason}")
