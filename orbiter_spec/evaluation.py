"""`evaluate`: verl's own validation, by the real trainer, with the rewards that the spec declares.

It is a run like any other, in a run folder below `evaluations/`, of a trainer that validates and stops. A checkpoint is
loaded as a resumed training would load it, so the weights are exactly those that were trained; it therefore needs as
many training processes as wrote it. For other machines `export` writes a folder that `agent.model.path` may name.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orbiter_spec.diagnostics import Diagnostic, Place, Report
from orbiter_spec.launch.checkpoints import Checkpoint, world_size
from orbiter_spec.launch.chosen import NoCheckpointError, choose_checkpoint
from orbiter_spec.launch.local import Reporter, RunOutcome
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.start import start
from orbiter_spec.launch.verl_config import VerlConfig, read_verl_config, resume_overrides
from orbiter_spec.report.scores import Score, as_json, read_answers, scores
from orbiter_spec.runner import prepare_run

SETTINGS = (
    "run.evaluate.only=true",
    "run.evaluate.before_training=true",
    "run.save_validations=true",
)
FOLDER = "evaluations"
SCORES_FILE = "scores.json"
WRAPPER = Path(__file__).parent / "runtime" / "reward_sources.py"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came out; `scores` are None when nothing was started, the run failed or its answers are elsewhere."""

    report: Report
    folder: RunFolder | None = None
    outcome: RunOutcome | None = None
    scores: list[Score] | None = None


def evaluate(
    spec: str | os.PathLike[str],
    *,
    checkpoint: str | None = None,
    sets: Sequence[str] = (),
    target: str | None = None,
    reporter: Reporter | None = None,
) -> Evaluation:
    """Validate the model of `spec`, or a `checkpoint` (`RUN` or `RUN@STEP`), and count its scores."""
    try:
        chosen = choose_checkpoint(checkpoint)[2] if checkpoint else None
    except NoCheckpointError as missing:
        return Evaluation(Report.of([missing.diagnostic]))
    prepared = prepare_run(spec, sets=[*SETTINGS, *sets], target=target, below=FOLDER)
    if prepared.folder is None:
        return Evaluation(prepared.report)
    config = read_verl_config(prepared.folder.compiled)
    problem = refuse_checkpoint(config, chosen) if chosen else None
    if problem:
        shutil.rmtree(prepared.folder.path)
        return Evaluation(Report.of([*prepared.report, problem]))
    overrides = [*_load(chosen), *_named_sources(config, prepared.folder)]
    outcome = start(prepared.folder, reporter=reporter, overrides=overrides)
    answers = prepared.folder.validation / f"{chosen.step if chosen else 0}.jsonl"
    found = count(prepared.folder, chosen, answers) if outcome.exit_code == 0 and answers.is_file() else None
    return Evaluation(prepared.report, prepared.folder, outcome, found)


def refuse_checkpoint(config: VerlConfig, checkpoint: Checkpoint) -> Diagnostic | None:
    """Why the workers of `config` cannot load `checkpoint`, or None when they can."""
    wrote = world_size(checkpoint)
    load = config.number("trainer.nnodes", 1) * config.number("trainer.n_gpus_per_node", 1)
    if wrote in (None, load):
        return None
    return Diagnostic(
        "ORB552",
        f"{wrote} training processes wrote the checkpoint and {load} would load it",
        Place(str(checkpoint.path)),
        help=f"set hardware so that {wrote} train, or export the checkpoint and name the folder in agent.model.path",
    )


def _load(checkpoint: Checkpoint | None) -> list[str]:
    if checkpoint is None:
        return ["trainer.resume_mode=disable"]
    roles = ("actor_rollout_ref.actor", "critic")
    contents = [f"{role}.checkpoint.load_contents=[model]" for role in roles]
    return [*resume_overrides(checkpoint.path), *contents]


def _named_sources(config: VerlConfig, folder: RunFolder) -> list[str]:
    """The override that keeps each answer's source, where the reward is a function of ours."""
    if config.get("reward.custom_reward_function.path") != "reward.py":
        return []
    shutil.copyfile(WRAPPER, folder.compiled / WRAPPER.name)
    return [f"reward.custom_reward_function.path={WRAPPER.name}"]


def count(folder: RunFolder, checkpoint: Checkpoint | None, answers: Path) -> list[Score]:
    """The scores of what the evaluation wrote to `answers`; kept in its folder as `scores.json`."""
    step = checkpoint.step if checkpoint else 0
    found = scores(read_answers(answers))
    content: dict[str, Any] = {"version": 1, "checkpoint": str(checkpoint.path) if checkpoint else None, "step": step}
    content["scores"] = as_json(found)
    (folder.path / SCORES_FILE).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return found
