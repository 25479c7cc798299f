"""What is suspicious about scores: of a part, and of the total that is trained on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orbiter_spec.diagnostics import Diagnostic, Place, Severity
from orbiter_spec.spec.builtin_rewards import BUILTINS
from orbiter_spec.trial.answers import AGAIN, GOLD, JUNK, KINDS
from orbiter_spec.trial.scoring import PartScore, Scored

SAME = 1e-9
TOTAL = "total"
SHOWN = {
    "gold": "right answers",
    "empty": "empty ones",
    "repeated": "repeated ones",
    "truncated": "halves",
    "shuffled": "those of other rows",
    "rollouts": "those of the run",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: means by kind of answer, the time of a call, and what failed."""

    name: str
    means: Mapping[str, float]
    low: float
    high: float
    seconds: float
    calls: int
    failures: int
    first_failure: str = ""


def table(scored: Sequence[Scored], names: Sequence[str]) -> list[Row]:
    """A line for each part and one for the total."""
    rows = [_part_row(name, scored) for name in names]
    totals = [(item.sample.kind, item.total) for item in scored]
    seconds = sum(row.seconds for row in rows)
    return [*rows, _row(TOTAL, totals, seconds, len(scored), 0)]


def _part_row(name: str, scored: Sequence[Scored]) -> Row:
    found = [(item.sample.kind, item.parts[name]) for item in scored]
    called = [part for _, part in found if part.counted or part.error]
    failed = [part for part in called if part.error]
    values = [(kind, part.value) for kind, part in found if part.counted and not part.error]
    seconds = sum(part.seconds for part in called) / len(called) if called else 0.0
    return _row(name, values, seconds, len(called), len(failed), failed[0].error if failed else "")


def _row(
    name: str, values: Iterable[tuple[str, float]], seconds: float, calls: int, failures: int, first: str = ""
) -> Row:
    kinds: dict[str, list[float]] = {}
    for kind, value in values:
        kinds.setdefault(GOLD if kind == AGAIN else kind, []).append(value)
    every = [value for of_kind in kinds.values() for value in of_kind]
    means = {kind: sum(kinds[kind]) / len(kinds[kind]) for kind in KINDS if kind in kinds}
    return Row(name, means, min(every, default=0.0), max(every, default=0.0), seconds, calls, failures, first)


Where = Callable[[str], Place | None]
MENDED = {"function": "the function", "judge": "the judge's rubric or address"}
SAME_AGAIN = {"judge": "set judge.temperature: 0, or average several verdicts with judge.samples"}
FEW = 0.1
"""Share of failed answers that is still a warning where `on_error` names no `error_limit`."""


def find(
    rows: Sequence[Row], scored: Sequence[Scored], declared: Mapping[str, Mapping[str, Any]], slow: float, where: Where
) -> Iterator[Diagnostic]:
    """Everything suspicious; `declared` has the entries of rewards.json, `where` gives the place of a part or total."""
    for row in rows:
        if row.name == TOTAL:
            yield from _total(row, scored, where)
            continue
        item = declared[row.name]
        yield from _failures(row, item, where)
        yield from _constant(row, item, where)
        yield from _inverted(row, item, where)
        yield from _speed(row, slow, where)
        yield from _range(row, item, where)
        yield from _again(row, item, scored, where)


def _failures(row: Row, item: Mapping[str, Any], where: Where) -> Iterator[Diagnostic]:
    """Failures that `on_error` allows for are worth a warning, as long as they are few."""
    if not row.failures:
        return
    allowed = item.get("on_error", "stop") != "stop"
    few = allowed and row.failures <= float(item.get("error_limit") or FEW) * row.calls
    what = MENDED.get(str(item["kind"]), "its arguments")
    yield Diagnostic(
        "ORB495",
        f"reward {row.name!r} failed on {row.failures} of {row.calls} answers",
        where(row.name),
        note=row.first_failure.removeprefix("orbiter-spec: "),
        help=f"mend {what}" + ("" if allowed else ", or say in on_error what a failure is worth"),
        severity=Severity.WARNING if few else Severity.ERROR,
    )


def _constant(row: Row, item: Mapping[str, Any], where: Where) -> Iterator[Diagnostic]:
    if len(row.means) > 1 and row.high - row.low <= SAME and item["weight"]:
        yield Diagnostic(
            "ORB490",
            f"reward {row.name!r} gives {row.low:g} whatever the answer is",
            where(row.name),
            note=f"the same for {', '.join(SHOWN[kind] for kind in row.means)}",
            help="test it with answers as the model writes them: --gold TEMPLATE, or --rollouts RUN",
            severity=Severity.WARNING if item["kind"] == "builtin" or item.get("only_if") else Severity.ERROR,
        )


def _inverted(row: Row, item: Mapping[str, Any], where: Where) -> Iterator[Diagnostic]:
    gold, wrong = row.means.get(GOLD), row.means.get("shuffled")
    if gold is None or wrong is None or not item["weight"]:
        return
    if (gold < wrong - SAME) if item["weight"] > 0 else (gold > wrong + SAME):
        yield Diagnostic(
            "ORB491",
            f"reward {row.name!r} gives more to answers of other rows than to the right ones",
            where(row.name),
            note=f"{wrong:g} against {gold:g}" + (f", with weight {item['weight']:g}" if item["weight"] < 0 else ""),
            help="turn the function or its weight around",
        )


def _speed(row: Row, slow: float, where: Where) -> Iterator[Diagnostic]:
    if row.calls and row.seconds > slow:
        yield Diagnostic(
            "ORB492",
            f"reward {row.name!r} takes {row.seconds:.2g} s a call",
            where(row.name),
            note=f"more than {slow:g} s",
            help="make it async or give it batch, so that calls run at once, or raise --slow",
            severity=Severity.WARNING,
        )


def _range(row: Row, item: Mapping[str, Any], where: Where) -> Iterator[Diagnostic]:
    known = BUILTINS.get(str(item.get("function"))) if item["kind"] == "builtin" else None
    shaped = item.get("normalize") is not None
    low, high = (
        (known.low, known.high)
        if known
        else (0.0, 1.0)
        if item["kind"] == "judge"
        else item.get("range") or (None, None)
    )
    if low is None or high is None or not row.means or shaped:
        return
    if row.low < low - SAME or row.high > high + SAME:
        yield Diagnostic(
            "ORB494",
            f"reward {row.name!r} leaves its range of {low:g} to {high:g}",
            where(row.name),
            note=f"it gave {row.low:g} to {row.high:g}",
        )


def _again(row: Row, item: Mapping[str, Any], scored: Sequence[Scored], where: Where) -> Iterator[Diagnostic]:
    first = _values(scored, row.name, GOLD)
    second = _values(scored, row.name, AGAIN)
    differ = [key for key in first if key in second and abs(first[key] - second[key]) > SAME]
    if differ:
        key = differ[0]
        yield Diagnostic(
            "ORB493",
            f"reward {row.name!r} gives the same answer different scores",
            where(row.name),
            note=f"{first[key]:g} and {second[key]:g}; {len(differ)} of {len(first)} answers differ",
            help=SAME_AGAIN.get(str(item["kind"]), "seed what it draws, and keep no state between calls"),
        )


def _values(scored: Sequence[Scored], name: str, kind: str) -> dict[int, float]:
    found: dict[int, PartScore] = {id(s.sample.extra_info): s.parts[name] for s in scored if s.sample.kind == kind}
    return {key: part.value for key, part in found.items() if part.counted and not part.error}


def _total(row: Row, scored: Sequence[Scored], where: Where) -> Iterator[Diagnostic]:
    gold = row.means.get(GOLD)
    if gold is None:
        return
    above = {kind: row.means[kind] for kind in JUNK if row.means.get(kind, gold) > gold + SAME}
    equal = [kind for kind in ("empty", "shuffled") if abs(row.means.get(kind, gold + 1) - gold) <= SAME]
    if above:
        yield Diagnostic(
            "ORB491",
            "the total gives more to wrong answers than to the right ones",
            where(TOTAL),
            note=", ".join(f"{SHOWN[kind]} {value:.3g}" for kind, value in above.items()) + f", right {gold:.3g}",
            help="weigh the parts so that being right is worth more than being short or well formed",
        )
    elif equal:
        yield Diagnostic(
            "ORB496",
            f"the total does not tell the right answers from {' and '.join(SHOWN[kind] for kind in equal)}",
            where(TOTAL),
            note=f"both {gold:.3g}",
            help="if the model writes more than the bare answer, say how with --gold TEMPLATE",
            severity=Severity.ERROR if "empty" in equal else Severity.WARNING,
        )
