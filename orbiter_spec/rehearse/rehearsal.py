"""The order of a rehearsal: check, make a small model, shrink, probe, try the rewards, run, read what it has shown."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from orbiter_spec.compilation import Compilation, output_root
from orbiter_spec.compiler import check
from orbiter_spec.diagnostics import Diagnostic, Report, Severity
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.status import State
from orbiter_spec.rehearse.agents import Played, play_agent
from orbiter_spec.rehearse.changes import Change, LeftOut, Shrunk
from orbiter_spec.rehearse.model import ModelError, SmallModel, make_small_model
from orbiter_spec.rehearse.outcome import Outcome, read_outcome
from orbiter_spec.rehearse.probes import Asked, probe_tokens
from orbiter_spec.rehearse.shrink import STEPS, shrink
from orbiter_spec.rehearse.shrink_rewards import DIFFERENCE
from orbiter_spec.rehearse.stand_in import StandIn
from orbiter_spec.rehearse.watch import CHECKS, PROBES, WEIGHTS, Watch
from orbiter_spec.runner import prepare_run
from orbiter_spec.trial.report import Tried, plays_turns, try_rewards

if TYPE_CHECKING:
    from orbiter_spec.launch.local import Reporter

BUILTIN = "builtin:"
FOLDER = "rehearsals"
TRIED_ROWS = 16
OF_TEXT = ("ORB490", "ORB491", "ORB496")
TOKENIZER = LeftOut("the model's tokenizer and chat template", "not on this machine: a byte-level one stands in")


@dataclass(frozen=True, slots=True)
class Trying:
    """How rewards are tried: whether services are asked, and how a right answer looks."""

    ask_services: bool = False
    gold: str | None = None


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A rehearsal that ran, or what stood in its way.

    `seconds` are of the run alone, `times` of everything by phase; `asked` counts what the stand-in answered.
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
    asked: Mapping[str, int] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)

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
    ask_services: bool = False,
    gold: str | None = None,
    reporter: Reporter | None = None,
) -> Rehearsal:
    """Rehearse `spec` here; `workers` are training processes. The reporter is closed.

    Without `run`, only what needs no training is done: a few seconds. Judges, teachers and sandboxes are asked only
    with `ask_services`; else a stand-in on this machine answers. `gold` is a template of how a right answer looks,
    where it is more than the expected one.

    What it writes goes to `rehearsals/` in the spec's output folder. Nothing is started while a probe has found an
    error: the run would only end with a worse message.
    """
    watch = Watch(reporter)
    watch.lap(CHECKS)
    state = check(spec, sets=sets)
    if not state.report.ok:
        return Rehearsal(state.report)
    watch.lap(WEIGHTS)
    try:
        model = _small_model(state)
    except ModelError as error:
        place = state.place("agent.model.path")
        return Rehearsal(Report.of([Diagnostic("ORB560", "the model cannot be rehearsed", place, note=str(error))]))
    watch.lap(CHECKS)
    with StandIn(output_root(state) / FOLDER / ".stand-in").running() as stand_in:
        shrunk = _shrunk(state, model, steps, workers, stand_in, ask_services)
        made = _probed(state, shrunk, model, (*sets, *shrunk.sets), Trying(ask_services, gold), watch)
        if run and made.folder is not None and made.report.ok:
            made = _run(state, made, watch)
        watch.lap("")
        return replace(made, asked=stand_in.counts, times=watch.seconds)


def _probed(
    state: Compilation,
    shrunk: Shrunk,
    model: SmallModel | None,
    sets: Sequence[str],
    trying: Trying,
    watch: Watch,
) -> Rehearsal:
    """The small run laid out, and everything asked of it that needs no training: all at once, for they wait."""
    prepared = prepare_run(state.spec, sets=sets)
    if prepared.folder is None:
        return Rehearsal(_errors(prepared.report), shrunk, model)
    watch.lap(PROBES)
    compiled = prepared.folder.compiled
    with ThreadPoolExecutor() as pool:
        played = pool.submit(play_agent, state, compiled)
        tokens = pool.submit(probe_tokens, Asked(state, compiled, model))
        tried = pool.submit(_rewards_tried, state, sets, trying)
    findings = [*tokens.result(), *played.result().findings, *_own(state, tried.result())]
    report = Report.of(findings)
    return Rehearsal(report, shrunk, model, prepared.folder, played=played.result(), tried=tried.result())


def _rewards_tried(state: Compilation, sets: Sequence[str], trying: Trying) -> Tried | None:
    """Score answers whose worth is known: a random model gives none that are right. None where there are no parts.

    The rows are those of the small run. What stands in for another part is not tried.
    """
    assert state.experiment is not None
    parts = state.experiment.rewards.parts
    if not parts:
        return None
    judged = [part.label for part in parts if part.judge and (part.judge.address is None or not trying.ask_services)]
    served = [part.label for part in parts if part.builtin == "reward_model"]
    without = (*judged, *served, DIFFERENCE)
    return try_rewards(check(state.spec, sets=sets), rows=TRIED_ROWS, gold=trying.gold, without=without)


def _own(state: Compilation, tried: Tried | None) -> list[Diagnostic]:
    """Findings about scores; the others are about the shrinking.

    Where turns are played a reward may well be about what happened in them, which known answers do not show.
    """
    own = [found for found in tried.findings if found.id.startswith("ORB49")] if tried else []
    if not plays_turns(state):
        return own
    return [replace(found, severity=Severity.WARNING) if found.id in OF_TEXT else found for found in own]


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


def _shrunk(
    state: Compilation, model: SmallModel | None, steps: int, workers: int, stand_in: StandIn, ask_services: bool
) -> Shrunk:
    assert state.plan is not None
    shrunk = shrink(
        state.plan,
        None if model is None else str(model.folder),
        byte_tokens=model is None or model.byte_tokens,
        steps=steps,
        workers=workers,
        stand_in=stand_in,
        ask_services=ask_services,
    )
    output = Change("run.output", str(output_root(state) / FOLDER), "rehearsals stay apart from runs")
    unseen = [TOKENIZER] if model is not None and model.byte_tokens else []
    return Shrunk((*shrunk.changes, output), (*unseen, *shrunk.left_out))


def _errors(report: Report) -> Report:
    """Only errors: warnings of the shrunk spec are about the shrinking."""
    return Report.of([found for found in report if found.severity is Severity.ERROR])


def _run(state: Compilation, made: Rehearsal, watch: Watch) -> Rehearsal:
    from orbiter_spec.launch.local import run_local

    assert made.folder is not None
    before = watch.total
    ended = run_local(made.folder, reporter=watch)
    outcome = read_outcome(made.folder)
    findings = [*made.report, *ended.diagnostics]
    if ended.state is State.FAILED:
        help = f"read {made.folder.log}"
        findings.append(Diagnostic("ORB561", f"the rehearsal failed: {ended.reason}", state.place("name"), help=help))
    elif outcome.gradient == 0:
        findings.append(_no_gradient(state))
    seconds = watch.total - before
    return replace(made, report=Report.of(findings), outcome=outcome, state=ended.state, seconds=seconds)


def _no_gradient(state: Compilation) -> Diagnostic:
    return Diagnostic(
        "ORB569",
        "the loss had no gradient in any step",
        state.place("rewards"),
        note="every answer of a group scored the same, so the loss ran and trained nothing",
        help="more is seen where random answers score differently, as with a part of small weight for their form",
        severity=Severity.WARNING,
    )
