"""The order of a rehearsal: check, make a small model, shrink, probe, try the rewards, run, read what it has shown."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orbiter_spec.compilation import Compilation, output_root
from orbiter_spec.compiler import check
from orbiter_spec.diagnostics import Diagnostic, Report, Severity
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.status import State
from orbiter_spec.rehearse.agents import Played, play_agent
from orbiter_spec.rehearse.model import ModelError, SmallModel, make_small_model
from orbiter_spec.rehearse.outcome import Outcome, read_outcome
from orbiter_spec.rehearse.probes import Asked, probe_tokens
from orbiter_spec.rehearse.shrink import STEPS, Change, Shrunk, shrink
from orbiter_spec.runner import prepare_run
from orbiter_spec.trial.report import Tried, try_rewards

if TYPE_CHECKING:
    from orbiter_spec.launch.local import Reporter

BUILTIN = "builtin:"
FOLDER = "rehearsals"
TRIED_ROWS = 16


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A rehearsal that ran, or what stood in its way.

    `played` are the environment and the tools without a model, `tried` the rewards on answers whose worth is known;
    `outcome` is None when nothing was started.
    """

    report: Report
    shrunk: Shrunk | None = None
    model: SmallModel | None = None
    folder: RunFolder | None = None
    outcome: Outcome | None = None
    state: State | None = None
    seconds: float = 0.0
    tried: Tried | None = None
    played: Played | None = None

    @property
    def passed(self) -> bool:
        """True when no probe found an error and the run, if there was one, finished."""
        return self.state in (None, State.FINISHED) and self.report.ok


def rehearse(
    spec: str | os.PathLike[str],
    *,
    sets: Sequence[str] = (),
    steps: int = STEPS,
    workers: int = 1,
    run: bool = True,
    reporter: Reporter | None = None,
) -> Rehearsal:
    """Rehearse `spec` here; `workers` are training processes. The reporter is closed.

    Without `run`, only what needs no training is done: a few seconds.

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
    played = play_agent(state, prepared.folder.compiled)
    findings = [*probe_tokens(Asked(state, prepared.folder.compiled, model)), *played.findings]
    made = Rehearsal(Report.of(findings), shrunk, model, prepared.folder, played=played)
    if not made.report.ok:
        return made
    made = _with_rewards_tried(state, made)
    return _run(state, made, reporter) if run else made


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


def _with_rewards_tried(state: Compilation, made: Rehearsal) -> Rehearsal:
    """Score answers whose worth is known: a random model gives none that are right."""
    assert state.inputs is not None
    if not state.inputs.rewards:
        return made
    tried = try_rewards(state, rows=TRIED_ROWS)
    own = [found for found in tried.findings if found not in state.findings]
    return replace(made, report=Report.of([*made.report, *own]), tried=tried)


def _run(state: Compilation, made: Rehearsal, reporter: Reporter | None) -> Rehearsal:
    from time import monotonic

    from orbiter_spec.launch.local import run_local

    assert made.folder is not None
    started = monotonic()
    ended = run_local(made.folder, reporter=reporter)
    findings = [*made.report, *ended.diagnostics]
    if ended.state is State.FAILED:
        help = f"read {made.folder.log}"
        failed = Diagnostic("ORB561", f"the rehearsal failed: {ended.reason}", state.place("name"), help=help)
        findings.append(failed)
    return replace(
        made,
        report=Report.of(findings),
        outcome=read_outcome(made.folder),
        state=ended.state,
        seconds=monotonic() - started,
    )
