"""`run`: a checked spec becomes a run folder, and the run folder a training.

    RUN/spec/      the spec and every file it extends
    RUN/compiled/  what compile writes; verl's working folder
    RUN/...        logs, metrics, checkpoints, status: see launch/run_folder.py

A run folder is complete before anything starts, so that it can be started again by its path alone.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from orbiter_spec.compilation import Compilation, SpecError, output_root
from orbiter_spec.compiler import check, write_compiled
from orbiter_spec.diagnostics import Diagnostic, Place, Report, Severity
from orbiter_spec.launch.lock import drift, home_of, write_lock
from orbiter_spec.launch.run_folder import RunFolder, create_run_folder, list_runs
from orbiter_spec.preflight import add_site_findings

if TYPE_CHECKING:
    from orbiter_spec.launch.local import Reporter, RunOutcome


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run folder ready to start, or the findings that stand in the way."""

    report: Report
    folder: RunFolder | None = None


def prepare_run(
    spec: str | os.PathLike[str],
    *,
    sets: Sequence[str] = (),
    target: str | None = None,
    strict: bool = False,
    below: str = "",
    look: bool = True,
) -> Prepared:
    """Check `spec` and lay out a new run folder in `run.output`, or in its folder `below`.

    With `look`, the machines of the run are asked first.
    """
    state = check(spec, sets=sets, target=target, rows="ask")
    if look:
        state.findings += refuse_absent(state)
        add_site_findings(state, environment={})
    report = state.report
    if not report.ok or (strict and report.count(Severity.WARNING)):
        return Prepared(report)
    assert state.plan is not None and state.experiment is not None
    root = output_root(state) / below
    try:
        folder = create_run_folder(root, state.experiment.name, datetime.now())
    except OSError as error:
        reason = Diagnostic("ORB501", f"cannot write {root}: {error.strerror or error}", Place(str(root)))
        return Prepared(Report.of([*report, reason]))
    keep_spec(state, folder)
    keep_findings(report, folder)
    compiled = write_compiled(state, folder.compiled, ask=True)
    write_lock(folder.path, Path(state.spec).resolve().parent if state.spec != "-" else Path.cwd())
    return Prepared(compiled.report, folder if compiled.folder else None)


def repeat_run(run: str | os.PathLike[str]) -> tuple[RunFolder, list[str]]:
    """A new run folder beside `run` with its spec and compiled files, and what has drifted since.

    Raises:
        OSError: when it cannot be written.
    """
    old = RunFolder.at(Path(run))
    name = re.sub(r"-\d{8}-\d{6}(-\d+)?$", "", old.name)
    folder = create_run_folder(old.path.parent, name, datetime.now())
    for part in ("spec", "compiled"):
        if (old.path / part).is_dir():
            shutil.copytree(old.path / part, folder.path / part)
    write_lock(folder.path, home_of(old.path))
    return folder, drift(old.path)


def refuse_absent(state: Compilation) -> list[Diagnostic]:
    """Files that may be on another machine have to be on this one to run here."""
    return [
        replace(found, severity=Severity.ERROR)
        for found in state.findings
        if found.id in ("ORB406", "ORB418") and found.severity is Severity.WARNING
    ]


def keep_spec(state: Compilation, folder: RunFolder) -> None:
    """Copy the spec and what it extends, side by side."""
    assert state.document is not None
    kept = folder.path / "spec"
    kept.mkdir(exist_ok=True)
    for path in state.document.files:
        shutil.copyfile(path, kept / path.name)


def keep_findings(report: Report, folder: RunFolder) -> None:
    """Keep what the checks said, for the report of the run."""
    from orbiter_spec.diagnostics.json import render

    folder.findings.write_text(render(report) + "\n", encoding="utf-8")


def find_run(spec: str | os.PathLike[str], *, sets: Sequence[str] = (), target: str | None = None) -> Prepared:
    """The run folder to resume: `spec` itself when it is one, else the latest run of that spec."""
    path = Path(spec)
    if (path / "compiled" / "verl.yaml").is_file():
        return Prepared(Report(), RunFolder.at(path))
    state = check(spec, sets=sets, target=target)
    if not state.report.ok or state.experiment is None:
        return Prepared(state.report)
    runs = [run for run in list_runs(output_root(state)) if belongs_to(run.folder, state.experiment.name)]
    if not runs:
        problem = Diagnostic(
            "ORB503", "no run of this spec to resume", Place(str(spec)), help="run it without --resume"
        )
        return Prepared(Report.of([*state.report, problem]))
    return Prepared(state.report, max(runs, key=lambda run: run.folder.path.stat().st_mtime).folder)


def belongs_to(folder: RunFolder, name: str) -> bool:
    """True when `folder` holds a run of the experiment `name`."""
    import json

    try:
        manifest = json.loads((folder.compiled / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(manifest.get("name") == name)


def start_run(
    spec: str | os.PathLike[str],
    *,
    sets: Sequence[str] = (),
    target: str | None = None,
    resume: bool = False,
    reporter: Reporter | None = None,
) -> RunOutcome:
    """Run `spec` here and wait.

    Raises:
        SpecError: when the spec has errors; nothing was started.
    """
    from orbiter_spec.launch.start import start

    prepared = find_run(spec, sets=sets, target=target) if resume else prepare_run(spec, sets=sets, target=target)
    if prepared.folder is None:
        raise SpecError(prepared.report)
    return start(prepared.folder, reporter=reporter, resume=resume)
