"""`orbiter-spec init`: a starter experiment that validates as it is."""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

import click

from orbiter_spec.cli.output import Exit, stop


def template_folders() -> dict[str, Path]:
    """Templates by name: those of the checkout, else those installed with the package."""
    checkout = Path(__file__).resolve().parents[2] / "templates"
    installed = Path(sysconfig.get_path("data"), "share", "orbiter-spec", "templates")
    home = checkout if checkout.is_dir() else installed
    return {path.name: path for path in sorted(home.iterdir()) if (path / "experiment.yaml").is_file()}


@click.command()
@click.argument("template", default="cpu")
@click.argument("folder", type=click.Path(path_type=Path), default=Path("experiment"))
def command(template: str, folder: Path) -> None:
    """Write a starter experiment, with rows and a reward, to FOLDER; TEMPLATE is cpu or gpu."""
    templates = template_folders()
    if template not in templates:
        raise click.UsageError(f"no template {template!r}; there are: {', '.join(templates)}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        click.echo(f"error: {folder} is not empty; name a new folder", err=True)
        stop(Exit.SPEC)
    shutil.copytree(templates[template], folder, dirs_exist_ok=True)
    click.echo(f"{folder}: orbiter-spec validate {folder / 'experiment.yaml'}")
