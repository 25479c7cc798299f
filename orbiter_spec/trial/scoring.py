"""The rewards of a spec as a run has them, called in a process of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orbiter_spec.assemble import write_reward_path
from orbiter_spec.data.rows import TRAIN_FILE, write_rows
from orbiter_spec.diagnostics import Diagnostic, Severity
from orbiter_spec.trial.answers import Sample

if TYPE_CHECKING:
    from orbiter_spec.compilation import Compilation

PROGRAM = Path(__file__).resolve().parent.parent / "runtime" / "reward_trial.py"
JUDGES_AT_ONCE = 8
SOURCES = 64
"""Sources among which rows are taken in turn: so many times the rows that are asked for are looked at."""
NEEDS_RUN = {"reward_model": "the reward model", "step_rewards": "an episode", "environment": "an episode"}
"""Built-ins that only a run can feed."""


@dataclass(frozen=True, slots=True)
class PartScore:
    """What one part gave for one answer."""

    value: float
    counted: bool
    seconds: float
    error: str


@dataclass(frozen=True, slots=True)
class Scored:
    """One answer with its total and the score of each part."""

    sample: Sample
    total: float
    parts: Mapping[str, PartScore]


@dataclass
class Outcome:
    """What was scored; `failed` says why nothing or not everything was."""

    scored: list[Scored] = field(default_factory=list)
    failed: str = ""


def write_rewards(state: Compilation, folder: Path, without: Sequence[str]) -> dict[str, str]:
    """The reward path of a checked spec below `folder`, less the parts that cannot run here: their names and why."""
    left_out = {name: "left out" for name in without}
    for item in state.inputs.rewards if state.inputs else ():
        if item["kind"] == "builtin" and item["function"] in NEEDS_RUN:
            left_out[item["name"]] = f"needs {NEEDS_RUN[item['function']]} of a run"
        elif item["kind"] == "judge" and item["judge"].get("address") is None:
            left_out[item["name"]] = "needs the judge that a run serves"
    write_reward_path(state, folder)
    path = folder / "rewards.json"
    declared = json.loads(path.read_text(encoding="utf-8"))
    declared["rewards"] = [_ungated(item, left_out) for item in declared["rewards"] if item["name"] not in left_out]
    path.write_text(json.dumps(declared), encoding="utf-8")
    return left_out


def _ungated(item: dict[str, Any], left_out: Mapping[str, str]) -> dict[str, Any]:
    """A part whose gate is not there is always open."""
    gate = item.get("only_if")
    return {**item, "only_if": None} if gate and gate["part"] in left_out else item


def read_rows(state: Compilation, folder: Path, limit: int) -> tuple[list[dict[str, Any]], list[Diagnostic]]:
    """`limit` rows of the training set in verl's row format, as many of each source as there are; built below `folder`
    where the spec builds them.
    """
    assert state.rows is not None
    request = state.rows.request
    problems: list[Diagnostic] = []
    if request is None:
        path = Path(str(state.rows.paths["dataset.train"][0]))
    else:
        train = tuple(replace(source, limit=min(source.limit or limit, limit)) for source in request.train)
        problems = write_rows(replace(state.rows, request=replace(request, train=train)), folder)
        path = folder / TRAIN_FILE
    if not path.is_file() or any(found.severity is Severity.ERROR for found in problems):
        return [], problems
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        names = [name for name in ("data_source", "reward_model", "extra_info") if name in file.schema_arrow.names]
        batch = next(file.iter_batches(batch_size=limit * SOURCES, columns=names), None)
        return spread(batch.to_pylist() if batch is not None else [], limit), problems


def spread(rows: Sequence[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """`limit` rows, taken from the sources in turn: a reward may fail on one of them alone."""
    sources: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        sources.setdefault(str(row.get("data_source")), []).append(row)
    in_turn = zip_longest(*sources.values())
    return list(islice((row for turn in in_turn for row in turn if row is not None), limit))


def score(
    folder: Path,
    samples: Sequence[Sample],
    *,
    at_once: int = 1,
    seconds: float = 900.0,
    progress: Callable[[int], None] = lambda count: None,
) -> Outcome:
    """Score the answers; one that gives no score within `seconds` ends it. `progress` hears how many are done."""
    todo = folder / "answers.json"
    answers = [asdict(sample) for sample in samples]
    todo.write_text(json.dumps({"at_once": at_once, "answers": answers}, default=str), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-P", str(PROGRAM), str(folder), str(todo)],
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    outcome = Outcome()
    try:
        for record in _records(process, seconds):
            if "failed" in record:
                outcome.failed = record["failed"]
            elif "index" in record:
                parts = {
                    name: PartScore(part["value"], part["counted"], part["seconds"], part["error"])
                    for name, part in record["parts"].items()
                }
                outcome.scored.append(Scored(samples[record["index"]], record["total"], parts))
                progress(len(outcome.scored))
    finally:
        process.kill()
        process.wait()
    if not outcome.failed and len(outcome.scored) < len(samples):
        missing = len(samples) - len(outcome.scored)
        outcome.failed = f"{missing} answers were not scored: the process that scores ended or took over {seconds:g} s"
    return outcome


def _records(process: subprocess.Popen[str], seconds: float) -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    while True:
        alarm = threading.Timer(seconds, process.kill)
        alarm.daemon = True
        alarm.start()
        line = process.stdout.readline()
        alarm.cancel()
        if not line:
            return
        with suppress(ValueError):
            yield json.loads(line)
