"""`RUN` and `RUN@STEP`: a checkpoint as people name it.

Without a step it is the last whole one. A step is taken at its word: when it is not there, or only half of it, that is
an error and nothing older is used in its place.
"""

from __future__ import annotations

from pathlib import Path

from orbiter_spec.diagnostics import Diagnostic, Place
from orbiter_spec.launch.checkpoints import Checkpoint, checkpoint_at, is_whole, latest_checkpoint
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.verl_config import VerlConfig, checkpoints_folder, read_verl_config


class NoCheckpointError(Exception):
    """The checkpoint cannot be had; `diagnostic` says why."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def choose_checkpoint(name: str) -> tuple[RunFolder, VerlConfig, Checkpoint]:
    """The run, its configuration and the checkpoint that `name` means.

    Raises:
        NoCheckpointError: when there is no such run or no such whole checkpoint.
    """
    path, step = split_name(name)
    run = RunFolder.at(path)
    try:
        config = read_verl_config(run.compiled)
    except (OSError, ValueError):
        raise NoCheckpointError(
            Diagnostic("ORB550", "not a run folder", Place(path), help="`orbiter-spec runs FOLDER` lists runs")
        ) from None
    folder = checkpoints_folder(config, run)
    found = latest_checkpoint(folder) if step is None else checkpoint_at(folder, step)
    if found is None:
        raise NoCheckpointError(_absent(folder, step))
    if not is_whole(found.path):
        help_text = f"use {path}, which means the last whole checkpoint"
        raise NoCheckpointError(
            Diagnostic("ORB551", "checkpoint is half-written", Place(str(found.path)), help=help_text)
        )
    return run, config, found


def split_name(name: str) -> tuple[str, int | None]:
    """`RUN@STEP` as a path and a number; an `@` that no number follows belongs to the path."""
    path, mark, step = name.rpartition("@")
    return (path, int(step)) if mark and path and step.isdigit() else (name, None)


def _absent(folder: Path, step: int | None) -> Diagnostic:
    there = sorted(int(path.name.rpartition("_")[2]) for path in folder.glob("global_step_*") if is_whole(path))
    steps = (
        f"whole checkpoints: {', '.join(map(str, there))}" if there else "run.checkpoint.every sets when one is written"
    )
    message = "the run has no whole checkpoint" if step is None else f"the run has no checkpoint of step {step}"
    return Diagnostic("ORB551", message, Place(str(folder)), help=steps)
