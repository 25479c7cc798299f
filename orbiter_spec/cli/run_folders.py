"""Run folders as arguments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from orbiter_spec.launch.run_folder import RunFolder


def folder_of(run: str) -> RunFolder:
    """The run folder that `run` names; anything else is a usage error that says what there is."""
    from orbiter_spec.launch.run_folder import RunFolder

    path = Path(run)
    if (path / "compiled" / "verl.yaml").is_file():
        return RunFolder.at(path)
    inside = sorted(child.name for child in path.glob("*") if (child / "compiled" / "verl.yaml").is_file())
    hint = f"; in it: {', '.join(inside[-3:])}" if path.is_dir() and inside else ""
    raise click.BadParameter(f"{run} is no run folder{hint}", param_hint="RUN")
