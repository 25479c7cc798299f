"""`orbiter-spec status`: how a run stands."""

from __future__ import annotations

import click

from orbiter_spec.cli.output import Exit, stop
from orbiter_spec.cli.run_folders import folder_of


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--format", "style", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(run: str, style: str) -> None:
    """Say how RUN stands, asked of its cluster where it has one."""
    import json
    from dataclasses import asdict

    from orbiter_spec.launch.cluster.record import read_record
    from orbiter_spec.launch.control import refresh

    folder = folder_of(run)
    status, problem = refresh(folder)
    if problem:
        click.echo(f"warning[ORB533]: {problem}; this is what was last heard", err=True)
    if status is None:
        click.echo("prepared, never started")
        stop(Exit.DONE)
    if style == "json":
        click.echo(json.dumps(asdict(status), indent=2))
        return
    record = read_record(folder)
    total = f" of {status.total_steps}" if status.total_steps else ""
    rows = [
        ("state", status.state + (f": {status.reason}" if status.reason else "")),
        ("step", f"{status.step}{total}, attempt {status.attempt}"),
        ("started", status.started_at),
        ("ended", status.finished_at),
        ("checkpoint", f"step {status.resumable_step}" if status.resumable_step else None),
        ("cluster", f"{record.address}, job {record.last.id}" if record and record.last else None),
        ("output", record.folder if record and record.folder and not record.shared else None),
    ]
    for name, value in rows:
        if value:
            click.echo(f"{name:12}{value}")
