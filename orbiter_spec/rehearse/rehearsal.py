"""The order of a rehearsal: check the spec, make a small model, shrink, ask the probes, run, read what it has shown."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orbiter_spec.compiler import Compilation, check
from orbiter_spec.diagnostics import Diagnostic, Report, Severity
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.status import State
from orbiter_spec.rehearse.model import ModelError, SmallModel, make_small_model
from orbiter_spec.rehearse.outcome import Outcome, read_outcome
from orbiter_spec.rehearse.probes import Asked, probe_tokens
from orbiter_spec.rehearse.shrink import STEPS, Change, Shrunk, shrink
from orbiter_spec.runner import output_root, prepare_run

if TYPE_CHECKING:
    from orbiter_spec.launch.local import Reporter

BUILTIN = "builtin:"
FOLDER = "rehearsals"


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A rehearsal that ran, or what stood in its way. `outcome` is None when nothing was started."""

    report: Report
    shrunk: Shrunk | None = None
    model: SmallModel | None = None
    folder: RunFolder | None = None
    outcome: Outcome | None = None
    state: State | None = None
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """True when the run finished and no probe found an error."""
        return self.state is State.FINISHED and self.report.ok


def rehearse(
    spec: str | os.PathLike[str],
    *,
    sets: Sequence[str] = (),
    steps: int = STEPS,
    workers: int = 1,
    reporter: Reporter | None = None,
) -> Rehearsal:
    """Rehearse `spec` here; `workers` are training processes. The reporter is closed.

    What it writes goes to `rehearsals/` in the spec's output folder. Nothing is started while a probe has found an
    error: the run would only end with a worse message.
    """
    state = check(spec, sets=sets)
    if not state.report.ok:
        return Rehearsal(state.report)
    try:
        model = _small_model(state)
    except ModelError as error:
        place = state.place("agent.model.path")
        return Rehearsal(Report.of([Diagnostic("ORB560", "the model cannot be rehearsed", place, note=str(error))]))
    shrunk = _shrunk(state, model, steps, workers)
    prepared = prepare_run(spec, sets=(*sets, *shrunk.sets))
    if prepared.folder is None:
        return Rehearsal(_errors(prepared.report), shrunk, model)
    findings = probe_tokens(Asked(state, prepared.folder.compiled, model))
    if not Report.of(findings).ok:
        return Rehearsal(Report.of(findings), shrunk, model, prepared.folder)
    return _run(state, shrunk, model, prepared.folder, findings, reporter)


def _small_model(state: Compilation) -> SmallModel | None:
    """None for a model that is small by itself."""
    assert state.experiment is not None and state.plan is not None
    named = state.experiment.agent.model
    if named.path.startswith(BUILTIN):
        return None
    return make_small_model(
        str(state.plan.path("agent.model.path")),
        output_root(state) / FOLDER / ".models",
        tokenizer=None if named.tokenizer is None else str(state.plan.path("agent.model.tokenizer")),
        config=None if named.config is None else str(state.plan.path("agent.model.config")),
        trust_remote_code=bool(named.trust_remote_code),
    )


def _shrunk(state: Compilation, model: SmallModel | None, steps: int, workers: int) -> Shrunk:
    assert state.plan is not None
    folder = None if model is None else str(model.folder)
    shrunk = shrink(state.plan, folder, byte_tokens=model is None or model.byte_tokens, steps=steps, workers=workers)
    output = Change("run.output", str(output_root(state) / FOLDER), "rehearsals stay apart from runs")
    return Shrunk((*shrunk.changes, output), shrunk.left_out)


def _errors(report: Report) -> Report:
    """Only errors: warnings of the shrunk spec are about the shrinking."""
    return Report.of([found for found in report if found.severity is Severity.ERROR])


def _run(
    state: Compilation,
    shrunk: Shrunk,
    model: SmallModel | None,
    folder: RunFolder,
    findings: list[Diagnostic],
    reporter: Reporter | None,
) -> Rehearsal:
    from time import monotonic

    from orbiter_spec.launch.local import run_local

    started = monotonic()
    ended = run_local(folder, reporter=reporter)
    findings = [*findings, *ended.diagnostics]
    if ended.state is State.FAILED:
        findings.append(
            Diagnostic(
                "ORB561",
                f"the rehearsal failed: {ended.reason}",
                state.place("name"),
                help=f"read {folder.log}",
            )
        )
    outcome = read_outcome(folder)
    return Rehearsal(Report.of(findings), shrunk, model, folder, outcome, ended.state, monotonic() - started)
