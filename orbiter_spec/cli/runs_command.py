"""`orbiter-spec runs`: what ran and what is running."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("runs"))
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(folder: Path, style: str) -> None:
    """List the runs in FOLDER: state, step, reward, validation, age."""
    from orbiter_spec.launch.run_table import as_json, as_text, rows

    found = rows(folder)
    if style == "json":
        click.echo(as_json(found))
    else:
        click.echo(as_text(found) if found else f"no runs in {folder}")
