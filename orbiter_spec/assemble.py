"""The content of a compiled folder, file by file, written to a stage that the caller moves into place."""

from __future__ import annotations

import hashlib
import os
import shutil
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orbiter_spec import __version__
from orbiter_spec.data.inputs import MODEL_FOLDER, Inputs
from orbiter_spec.data.rows import write_rows
from orbiter_spec.diagnostics import Diagnostic
from orbiter_spec.launch.write import write_texts
from orbiter_spec.lower.files import as_json, config_files, origins_file, pools_file
from orbiter_spec.plan.report import plan_json

if TYPE_CHECKING:
    from orbiter_spec.compiler import Compilation

RUNTIME_FILES = ("reward.py", "reward_builtins.py", "reward_metrics.py")


def assemble(state: Compilation, stage: Path, *, ask: bool = False) -> tuple[tuple[str, ...], list[Diagnostic]]:
    """Write every file of `state` below `stage`; returns their names and what the rows had to say.

    With `ask`, models that rows are waiting for are asked.
    """
    from orbiter_spec.compiler import origin_place

    assert state.plan is not None and state.target is not None and state.lowered is not None
    assert state.inputs is not None and state.rows is not None and state.config is not None
    problems = write_rows(state.rows, stage, ask=ask)
    texts = {
        **config_files(state.target, state.lowered, state.config),
        "resource_pools.yaml": pools_file(state.plan),
        "plan.json": as_json(plan_json(state.plan)),
        "origins.json": origins_file(state.plan, state.target, state.lowered, partial(origin_place, state)),
        **(_reward_files(state.inputs) if state.inputs.rewards else {}),
    }
    write_texts(stage, texts)
    _write_inputs(state.inputs, stage)
    write_texts(stage, {"manifest.json": as_json(_manifest(state, stage))})
    return tuple(sorted(path.name for path in stage.iterdir())), problems


def _reward_files(inputs: Inputs) -> dict[str, str]:
    """rewards.json and the modules that verl loads beside it; they need verl and the standard library only."""
    package = resources.files("orbiter_spec.runtime")
    modules = {name: package.joinpath(name).read_text(encoding="utf-8") for name in RUNTIME_FILES}
    return {"rewards.json": as_json({"version": 1, "rewards": inputs.rewards}), **modules}


def _write_inputs(inputs: Inputs, stage: Path) -> None:
    for name, source in inputs.copies.items():
        (stage / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, stage / name)
    if inputs.builtin_model:
        from orbiter_spec.data.tiny_model import write_tiny_model

        write_tiny_model(stage / MODEL_FOLDER)


def _manifest(state: Compilation, stage: Path) -> dict[str, Any]:
    """Hashes of the spec, of the files it names and of every file written."""
    assert state.document is not None and state.experiment is not None and state.target is not None
    home = Path(state.spec).resolve().parent if state.spec != "-" else Path.cwd()
    named = [*state.document.files, *(state.inputs.copies.values() if state.inputs else ())]
    named += state.rows.files if state.rows else ()
    sources = {Path(os.path.relpath(path.resolve(), home)).as_posix(): _sha256(path) for path in named}
    written = {path.relative_to(stage).as_posix(): _sha256(path) for path in sorted(stage.rglob("*")) if path.is_file()}
    return {
        "name": state.experiment.name,
        "orbiter_spec": __version__,
        "verl": state.target.version,
        "set": list(state.sets),
        "sources": dict(sorted(sources.items())),
        "files": written,
    }


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
