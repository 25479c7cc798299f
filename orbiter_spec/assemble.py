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
from orbiter_spec.compilation import origin_place
from orbiter_spec.data.agent_parts import PACKAGE
from orbiter_spec.data.inputs import MODEL_FOLDER, Inputs
from orbiter_spec.data.reward_parts import reward_packages
from orbiter_spec.data.rows import write_rows
from orbiter_spec.diagnostics import Diagnostic
from orbiter_spec.launch.write import write_texts
from orbiter_spec.lower.compose import dump_verl_yaml
from orbiter_spec.lower.derived import LOOP
from orbiter_spec.lower.files import as_json, config_files, launch_file, origins_file, pools_file
from orbiter_spec.plan.report import plan_json

if TYPE_CHECKING:
    from orbiter_spec.compilation import Compilation
    from orbiter_spec.plan.model import Plan

AGENT_FOLDER = "agent"
RUNTIME_FILES = ("reward.py", "reward_metrics.py")
REWARD_LIBRARY = "reward_library"


def assemble(state: Compilation, stage: Path, *, ask: bool = False) -> tuple[tuple[str, ...], list[Diagnostic]]:
    """Write every file of `state` below `stage`; returns their names and what the rows had to say.

    With `ask`, models that rows are waiting for are asked.
    """
    assert state.plan is not None and state.target is not None and state.lowered is not None
    assert state.inputs is not None and state.rows is not None and state.config is not None
    problems = write_rows(state.rows, stage, ask=ask)
    texts = {
        **config_files(state.target, state.lowered, state.config),
        "resource_pools.yaml": pools_file(state.plan),
        "plan.json": as_json(plan_json(state.plan)),
        "origins.json": origins_file(state.plan, state.target, state.lowered, partial(origin_place, state)),
        **(reward_files(state) if state.inputs.rewards else {}),
        **(_agent_files(state.inputs) if state.inputs.agent else {}),
        **launch_file(state.plan),
    }
    write_texts(stage, texts)
    _write_inputs(state.inputs, stage)
    write_texts(stage, {"manifest.json": as_json(_manifest(state, stage))})
    return tuple(sorted(path.name for path in stage.iterdir())), problems


def reward_files(state: Compilation) -> dict[str, str]:
    """rewards.json and the modules that verl loads beside it; they need verl and the standard library only."""
    assert state.inputs is not None and state.experiment is not None and state.plan is not None
    package = resources.files("orbiter_spec.runtime")
    library = [item.name for item in package.joinpath(REWARD_LIBRARY).iterdir() if item.name.endswith(".py")]
    names = (*RUNTIME_FILES, *(f"{REWARD_LIBRARY}/{name}" for name in sorted(library)))
    modules = {name: package.joinpath(name).read_text(encoding="utf-8") for name in names}
    return {"rewards.json": as_json(_declared(state.plan, state.inputs)), **modules}


def write_reward_path(state: Compilation, folder: Path) -> None:
    """What scores in a compiled folder, alone: rewards.json, the modules beside it and the users' code."""
    assert state.inputs is not None
    write_texts(folder, reward_files(state))
    _copy_files(state.inputs, folder)


def write_agent_path(state: Compilation, folder: Path) -> None:
    """What loads the tools in a compiled folder, alone: agent.json, tools.yaml, the package and the users' code."""
    assert state.inputs is not None
    write_texts(folder, _agent_files(state.inputs) if state.inputs.agent else {})
    _copy_files(state.inputs, folder)


def _declared(plan: Plan, inputs: Inputs) -> dict[str, Any]:
    """What the parts share stands beside them, where it is written."""
    rewards = plan.experiment.rewards
    engine = plan.get("rewards.model.engine") or plan.get("hardware.rollout.engine")
    shared = {
        "combine": rewards.combine,
        "clip": rewards.clip,
        "model": {"path": plan.path("rewards.model.path"), "engine": engine} if rewards.model else None,
        "sandbox": rewards.sandbox.model_dump(exclude_none=True) if rewards.sandbox else None,
    }
    needs = reward_packages(plan.experiment.rewards)
    return {
        "version": 1,
        **{name: value for name, value in shared.items() if value is not None},
        **({"needs": needs} if needs else {}),
        "rewards": inputs.rewards,
    }


def _agent_files(inputs: Inputs) -> dict[str, str]:
    """What verl's agent loop workers read, and the package that they load from the folder."""
    package = resources.files("orbiter_spec.runtime").joinpath(AGENT_FOLDER)
    modules = {
        f"{PACKAGE}/{item.name}": item.read_text(encoding="utf-8")
        for item in package.iterdir()
        if item.name.endswith(".py")
    }
    loops = [{"name": LOOP, "_target_": f"{PACKAGE}.loop.EpisodeLoop"}]
    files = {"agent.json": as_json(inputs.agent), "agent_loops.yaml": dump_verl_yaml(loops), **modules}
    return files | ({"tools.yaml": dump_verl_yaml({"tools": inputs.tools})} if inputs.tools else {})


def _copy_files(inputs: Inputs, stage: Path) -> None:
    for name, source in inputs.copies.items():
        (stage / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, stage / name)


def _write_inputs(inputs: Inputs, stage: Path) -> None:
    _copy_files(inputs, stage)
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
