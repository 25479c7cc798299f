"""One trial of a spec's rewards, from a checked spec to findings."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orbiter_spec.data.reward_checks import reward_route
from orbiter_spec.data.run_records import RunRecordsError
from orbiter_spec.diagnostics import Diagnostic, Place, Report, Severity
from orbiter_spec.diagnostics.json import describe
from orbiter_spec.runtime.agent.episode import Counts
from orbiter_spec.trial.answers import AGAIN, GoldError, Sample, make_answers, run_answers
from orbiter_spec.trial.findings import TOTAL, Row, find, table
from orbiter_spec.trial.scoring import JUDGES_AT_ONCE, read_rows, score, write_rewards

if TYPE_CHECKING:
    from orbiter_spec.compilation import Compilation

ROLLOUT_ANSWERS = 512
EPISODE = {"episode": Counts(turns=1).as_numbers()}
"""What the agent loop tells rewards about an episode of one turn in which nothing was called."""


@dataclass
class Tried:
    """What a trial gave: the table, the parts left out and why, and everything suspicious."""

    table: list[Row] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    findings: list[Diagnostic] = field(default_factory=list)
    rows: int = 0
    answers: int = 0

    @property
    def report(self) -> Report:
        """The findings in order."""
        return Report.of(self.findings)

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "rows": self.rows,
            "answers": self.answers,
            "rewards": [asdict(row) for row in self.table],
            "left_out": self.left_out,
            **describe(self.report),
        }


def try_rewards(
    state: Compilation,
    *,
    rows: int,
    gold: str | None = None,
    run: Path | None = None,
    without: Sequence[str] = (),
    slow: float = 1.0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Tried:
    """Score answers of `rows` rows of a checked spec, and those of `run`; users' functions run in another process."""
    assert state.inputs is not None and state.experiment is not None
    tried = Tried(findings=[found for found in state.report if found.severity is not Severity.NOTE])
    if not state.inputs.rewards:
        what = "a scorer of its own" if state.experiment.rewards.scorer else "a reward model alone"
        tried.findings.append(_fault(state, "ORB499", f"rewards has no parts to try: it has {what}"))
        return tried
    with tempfile.TemporaryDirectory(prefix="orbiter-rewards-") as home:
        folder = Path(home)
        tried.left_out = write_rewards(state, folder, without)
        names = [item["name"] for item in state.inputs.rewards if item["name"] not in tried.left_out]
        samples = _samples(state, folder, tried, rows, gold, run)
        if not names or not samples:
            return tried
        _try(state, folder, samples, names, tried, slow, progress)
    return tried


def plays_turns(state: Compilation) -> bool:
    """True when the agent loop of orbiter-spec runs, whose episodes rewards may read."""
    assert state.experiment is not None
    return state.experiment.agent.environment is not None or bool(state.experiment.agent.tools)


def _samples(
    state: Compilation, folder: Path, tried: Tried, limit: int, gold: str | None, run: Path | None
) -> list[Sample]:
    found, problems = read_rows(state, folder, limit)
    tried.findings += problems
    tried.rows = len(found)
    try:
        samples = make_answers(found, gold, EPISODE if plays_turns(state) else None)
        samples += run_answers(run, ROLLOUT_ANSWERS) if run is not None else []
    except GoldError as error:
        tried.findings.append(Diagnostic("ORB499", str(error), Place("--gold", text=gold or "")))
        return []
    except RunRecordsError as error:
        tried.findings.append(Diagnostic("ORB499", str(error), Place("--rollouts", text=str(run))))
        return []
    if not samples:
        tried.findings.append(_fault(state, "ORB499", "there are no rows here to make answers of"))
    elif not any(sample.kind == "gold" for sample in samples):
        help = "say how a right answer looks: --gold '{{ solution }}'"
        note = _fault(state, "ORB498", "the rows have no expected answer, so no right answer was tried", help)
        tried.findings.append(note)
    tried.answers = sum(sample.kind != AGAIN for sample in samples)
    return samples


def _try(
    state: Compilation,
    folder: Path,
    samples: list[Sample],
    names: list[str],
    tried: Tried,
    slow: float,
    progress: Callable[[int, int], None],
) -> None:
    assert state.inputs is not None
    declared = {item["name"]: item for item in state.inputs.rewards}
    judges = any(declared[name]["kind"] == "judge" for name in names)
    outcome = score(
        folder,
        samples,
        at_once=JUDGES_AT_ONCE if judges else 1,
        progress=lambda done: progress(done, len(samples)),
    )
    if outcome.failed:
        message = outcome.failed.removeprefix("orbiter-spec: ")
        tried.findings.append(_fault(state, "ORB495", message))
    if outcome.scored:
        tried.table = table(outcome.scored, names)
        tried.findings += find(tried.table, outcome.scored, declared, slow, lambda name: _place(state, name))


def _place(state: Compilation, name: str) -> Place | None:
    """Where the spec declares a part, or the rewards as a whole."""
    assert state.document is not None and state.experiment is not None
    labels = [part.label for part in state.experiment.rewards.parts]
    if name == TOTAL or name not in labels:
        return state.document.place(("rewards",), key=True)
    return state.document.place(reward_route(state.document, labels.index(name)))


def _fault(state: Compilation, id: str, message: str, help: str = "") -> Diagnostic:
    severity = Severity.WARNING if id == "ORB498" else Severity.ERROR
    return Diagnostic(id, message, _place(state, TOTAL), help=help, severity=severity)
