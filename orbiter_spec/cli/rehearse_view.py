"""What `rehearse` prints: what ran, what could not, what rewards gave, and what the cluster does differently."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from orbiter_spec.rehearse.rehearsal import Rehearsal

WIDTH = 28
SHOWN_ANSWERS = 2
ANSWER_LETTERS = 160


def as_text(done: Rehearsal) -> str:
    """A page for a person."""
    return "".join(f"{line}\n" for line in _lines(done))


def _lines(done: Rehearsal) -> Iterator[str]:
    if done.shrunk is None:
        return
    if done.outcome is not None:
        yield ""
        yield f"rehearsal of {done.seconds:.0f} s: {done.state}"
        yield from _section("exercised", list(_exercised(done)))
    yield from _section("played without a model", list(_played(done)))
    yield from _section("rewards of known answers", list(_tried(done)))
    yield from _section("rewards of the random model", list(_scores(done)))
    yield from _section("seconds of the last step", list(_seconds(done)))
    yield from _section("seconds in all", list(_times(done)))
    yield from _section("not exercised", [(left.what, left.why) for left in done.shrunk.left_out])
    yield from _section("different on the cluster", list(_differences(done)))
    yield from _section("answers", list(_answers(done)))
    if done.folder is not None:
        yield ""
        yield f"everything is in {done.folder.path}"


def _scores(done: Rehearsal) -> Iterator[tuple[str, str]]:
    for one in done.outcome.scores if done.outcome else ():
        yield one.name, f"{one.low:.3g} to {one.high:.3g}, mean {one.mean:.3g}, {one.count} answers"


def _exercised(done: Rehearsal) -> Iterator[tuple[str, str]]:
    assert done.outcome is not None
    yield from ((shown.part, shown.evidence) for shown in done.outcome.shown)
    for name, count in done.asked.items():
        said = "answered by a stand-in on this machine" if count else "no answer got that far"
        yield f"asking {name}", f"{count} requests, {said}"


def _times(done: Rehearsal) -> Iterator[tuple[str, str]]:
    """In the order of events; phases below a second are of no interest."""
    for name, seconds in done.times.items():
        if seconds >= 1.0:
            yield name, f"{seconds:.0f}"


def _seconds(done: Rehearsal) -> Iterator[tuple[str, str]]:
    for name, value in sorted((done.outcome.seconds if done.outcome else {}).items(), key=lambda item: -item[1]):
        yield name, f"{value:.2f}"


def _played(done: Rehearsal) -> Iterator[tuple[str, str]]:
    if done.played is None:
        return
    walks, calls = done.played.episodes, done.played.calls
    if walks:
        totals, steps = [one.total_reward for one in walks], [one.steps for one in walks]
        ended = sum(one.done for one in walks)
        text = f"{len(walks)} episodes, {ended} ended, steps {_span(steps)}, "
        seconds = sum(one.seconds for one in walks) / max(1, sum(steps))
        yield "environment", f"{text}return {_span(totals)}, {1000 * seconds:.3g} ms a step"
    for call in calls:
        yield f"tool {call.tool}", f"{_short(dict(call.arguments))} gave {_short(call.answer)} in {call.seconds:.2g} s"


def _span(values: list[int] | list[float]) -> str:
    """The lowest and the highest, once where they are the same."""
    ends = dict.fromkeys(f"{value:.3g}" for value in (min(values), max(values)))
    return " to ".join(ends)


def _tried(done: Rehearsal) -> Iterator[tuple[str, str]]:
    for row in done.tried.table if done.tried else ():
        means = ", ".join(f"{kind} {mean:.3g}" for kind, mean in row.means.items())
        yield row.name, f"{means}; {1000 * row.seconds:.3g} ms a call"


def _section(title: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    if rows:
        yield ""
        yield title
    for name, text in rows:
        yield f"  {name:{WIDTH}} {text}"


def _differences(done: Rehearsal) -> Iterator[tuple[str, str]]:
    if done.model is not None:
        yield (
            "model",
            f"{done.model.family} by {done.model.config_from}, two layers; tokenizer: {done.model.tokenizer_from}",
        )
    assert done.shrunk is not None
    for change in done.shrunk.changes:
        if change.route not in ("name", "run.output", "agent.model.path"):
            value = "left out" if change.value is None else json.dumps(change.value, ensure_ascii=False)
            yield change.route, f"{value}: {change.why}"


def _answers(done: Rehearsal) -> Iterator[tuple[str, str]]:
    for answer in done.outcome.answers[:SHOWN_ANSWERS] if done.outcome else ():
        yield "asked", _short(answer.get("input"))
        yield "answered", _short(answer.get("output"))
        yield "scored", _short(answer.get("score"))


def _short(value: Any) -> str:
    text = json.dumps(value if isinstance(value, str | int | float) else str(value), ensure_ascii=False)
    return text if len(text) <= ANSWER_LETTERS else f"{text[: ANSWER_LETTERS - 3]}..."


def as_json(done: Rehearsal) -> str:
    """The same for a program."""
    outcome, shrunk = done.outcome, done.shrunk
    content = {
        "state": done.state,
        "passed": done.passed,
        "seconds": round(done.seconds, 1),
        "folder": str(done.folder.path) if done.folder else None,
        "exercised": [{"part": one.part, "evidence": one.evidence} for one in outcome.shown] if outcome else [],
        "rewards": [
            {"name": one.name, "answers": one.count, "low": one.low, "mean": one.mean, "high": one.high}
            for one in (outcome.scores if outcome else ())
        ],
        "rewards_of_known_answers": [
            {"name": row.name, **row.means, "seconds": row.seconds} for row in (done.tried.table if done.tried else ())
        ],
        "episodes": [asdict(one) for one in (done.played.episodes if done.played else ())],
        "tool_calls": [asdict(one) for one in (done.played.calls if done.played else ())],
        "seconds_of_last_step": dict(outcome.seconds) if outcome else {},
        "seconds_in_all": {name: round(seconds, 1) for name, seconds in done.times.items()},
        "stand_in_asked": dict(done.asked),
        "not_exercised": [{"what": one.what, "why": one.why} for one in shrunk.left_out] if shrunk else [],
        "changes": [
            {"route": one.route, "value": one.value, "why": one.why} for one in (shrunk.changes if shrunk else ())
        ],
        "findings": [
            {"id": found.id, "severity": found.severity, "message": found.message, "note": found.note}
            for found in done.report
        ],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
