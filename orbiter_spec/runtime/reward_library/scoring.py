"""From the parts of rewards.json to one score: gates, what a failure means, weights, the total.

verl gets the total under `score` and every part, before its weight, under its own name. A part that raises or gives
something other than a finite number is never taken for zero: with `on_error: stop` it ends the run through a
`RewardError` whose message begins with `orbiter-spec:`; with a number it counts as that number, with `skip` the part
does not count for that sample, and either way `<name>/errors` is 1. A part that has failed `ERROR_WINDOW` times on end
(or for the share of them that `error_limit` names) ends the run whatever `on_error` says: nothing is learned from it.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .errors import CallError, RewardError, describe, short, user_trace
from .function import Call, Plain
from .kinds import load_call
from .printing import limit_printing
from .process import load_words
from .settings import Settings
from .shaping import Shape, check_range, shape
from .steps import by_step
from .watch import LIBRARY_LOOP, THREAD_POOL

REWARDS_FILE = "rewards.json"
STOP, SKIP = "stop", "skip"
SHOWN_FAILURES = 3
ERROR_WINDOW = 100
EXTRA_CHARACTERS = 2000
COMBINE: dict[str, Callable[[list[float]], float]] = {"sum": sum, "product": math.prod, "min": min}


class Gate(NamedTuple):
    """Another part, and the value from which on it lets this one count."""

    part: str
    at_least: float


@dataclass
class Part:
    """One part, ready to be called with the values of a sample by name."""

    name: str
    weight: float
    on_error: str | float
    where: str
    call: Call
    gate: Gate | None = None
    sources: frozenset[str] | None = None
    bounds: Any = None
    shape: Shape | None = None
    error_limit: float = 1.0
    failures: int = 0
    recent: deque[bool] = field(default_factory=lambda: deque(maxlen=ERROR_WINDOW))


@dataclass
class Outcome:
    """What one part gave for one sample: `value` as it counts, `raw` as it was returned, `seconds` it took."""

    value: float = 0.0
    raw: float | None = None
    counted: bool = True
    seconds: float = 0.0
    error: str = ""
    extras: dict[str, Any] = field(default_factory=dict)


class Scorer:
    """All parts of a run. `score` may be called from any thread and any number of times at once."""

    def __init__(self, parts: list[Part], folder: Path, combine: str = "sum", clip: Any = None) -> None:
        self.parts = parts
        self._folder, self._combine, self._clip = folder, combine, clip
        plain = all(isinstance(part.call, Plain) for part in parts)
        self._in_one_go = _gates_first(parts) if plain else None

    def score(self, sample: Mapping[str, Any]) -> dict[str, Any]:
        """Score one sample and wait: the total under `score`, and what is logged. Raises RewardError."""
        return flatten(self.parts, *self.outcomes(sample))

    async def score_async(self, sample: Mapping[str, Any]) -> dict[str, Any]:
        """As `score`, from a coroutine on any loop."""
        try:
            found = await asyncio.wrap_future(self._start(sample))
        except CallError:
            self._in_one_go = None
            found = await asyncio.wrap_future(self._start(sample))
        return flatten(self.parts, *found)

    def outcomes(self, sample: Mapping[str, Any]) -> tuple[float, dict[str, Outcome]]:
        """The total and each part's outcome, for looking at them one by one."""
        try:
            result: tuple[float, dict[str, Outcome]] = self._start(sample).result()
        except CallError:
            self._in_one_go = None
            result = self._start(sample).result()
        return result

    def _start(self, sample: Mapping[str, Any]) -> Future[Any]:
        """Parts that are plain calls run one after another in one thread: a hop for each would cost more than they do.

        A call there that nothing can interrupt fails the whole; from then on each part has a thread of its own.
        """
        order = self._in_one_go
        if order is None:
            return LIBRARY_LOOP.submit(self._outcomes(sample))
        whole: list[Future[Any]] = []
        ready = threading.Event()

        def run() -> tuple[float, dict[str, Outcome]]:
            ready.wait()
            outcomes: dict[str, Outcome] = {}
            for part in order:
                outcomes[part.name] = self._plainly(part, sample, outcomes, whole[0])
            return self._total(outcomes), outcomes

        whole.append(THREAD_POOL.submit(run, math.inf, self._folder, "rewards"))
        ready.set()
        return whole[0]

    def _plainly(
        self, part: Part, sample: Mapping[str, Any], outcomes: Mapping[str, Outcome], whole: Future[Any]
    ) -> Outcome:
        if _is_foreign(part, sample) or (part.gate is not None and _is_shut(part.gate, outcomes[part.gate.part])):
            return Outcome(counted=False)
        plain, started = part.call, time.perf_counter()
        assert isinstance(plain, Plain)
        try:
            result = THREAD_POOL.within(lambda: plain.bound(sample), plain.seconds, self._folder, part.name, whole)
            outcome = self._worth(part, result)
        except Exception as error:
            outcome = self._failed(part, sample, error)
        except SystemExit as exit:
            outcome = self._failed(part, sample, CallError(describe(exit, self._folder)))
        outcome.seconds = time.perf_counter() - started
        return outcome

    async def _outcomes(self, sample: Mapping[str, Any]) -> tuple[float, dict[str, Outcome]]:
        tasks: dict[str, asyncio.Task[Outcome]] = {}
        for part in self.parts:
            tasks[part.name] = asyncio.ensure_future(self._gated(part, sample, tasks))
        try:
            outcomes = dict(zip(tasks, await asyncio.gather(*tasks.values()), strict=True))
        except BaseException:
            for task in tasks.values():
                task.cancel()
            raise
        return self._total(outcomes), outcomes

    def _total(self, outcomes: Mapping[str, Outcome]) -> float:
        counted = [(part.weight, outcomes[part.name]) for part in self.parts if outcomes[part.name].counted]
        if self._combine != "sum":  # a part of weight 0 is there to be seen
            counted = [(weight, outcome) for weight, outcome in counted if weight]
        values = [weight * outcome.value for weight, outcome in counted]
        total = float(COMBINE[self._combine](values)) if values else 0.0
        return min(max(total, self._clip[0]), self._clip[1]) if self._clip else total

    async def _gated(
        self, part: Part, sample: Mapping[str, Any], tasks: Mapping[str, asyncio.Task[Outcome]]
    ) -> Outcome:
        if _is_foreign(part, sample):
            return Outcome(counted=False)
        if part.gate is not None:
            other = await asyncio.shield(tasks[part.gate.part])
            if _is_shut(part.gate, other):
                return Outcome(counted=False)
        return await self._one(part, sample)

    async def _one(self, part: Part, sample: Mapping[str, Any]) -> Outcome:
        started = time.perf_counter()
        try:
            outcome = self._worth(part, await part.call(sample))
        except Exception as error:
            outcome = self._failed(part, sample, error)
        outcome.seconds = time.perf_counter() - started
        return outcome

    def _worth(self, part: Part, result: Any) -> Outcome:
        raw, extras = read(result)
        check_range(raw, part.bounds)
        value = part.shape(raw) if part.shape is not None else raw
        part.recent.append(False)
        return Outcome(value, raw, extras=extras)

    def _failed(self, part: Part, sample: Mapping[str, Any], error: Exception) -> Outcome:
        """What counts instead, or the end of the run."""
        message = self._message(part, sample, error)
        part.failures += 1
        part.recent.append(True)
        if part.failures <= SHOWN_FAILURES:
            trace = error.trace if isinstance(error, CallError) else user_trace(error)
            print(trace + message, file=sys.stderr, flush=True)
        if part.on_error == STOP:
            raise RewardError(message) from error
        if len(part.recent) == ERROR_WINDOW and sum(part.recent) >= part.error_limit * ERROR_WINDOW:
            raise RewardError(short(f"{message}; {sum(part.recent)} of the last {ERROR_WINDOW} scores failed"))
        if isinstance(part.on_error, str):
            return Outcome(counted=False, error=message)
        return Outcome(part.on_error, error=message)

    def _message(self, part: Part, sample: Mapping[str, Any], error: Exception) -> str:
        info = sample.get("extra_info") or {}
        row = f"{info['source']} row {info['row']}" if "source" in info and "row" in info else ""
        where = ", ".join(text for text in (row, f"split {info['split']}" if "split" in info else "") if text)
        index = f"sample {info.get('index', '?')}" + (f" ({where})" if where else "")
        said = describe(error, self._folder)
        return short(f"orbiter-spec: reward {part.name!r} ({part.where}) failed on {index}: {said}")


def _is_foreign(part: Part, sample: Mapping[str, Any]) -> bool:
    """Whether the row is of a source that the part does not score."""
    return part.sources is not None and sample.get("data_source") not in part.sources


def _is_shut(gate: Gate, other: Outcome) -> bool:
    return not other.counted or other.value < gate.at_least


def _gates_first(parts: list[Part]) -> list[Part]:
    """The parts in an order in which each stands behind its gate."""
    depth: dict[str, int] = {}
    gates = {part.name: part.gate.part if part.gate else None for part in parts}
    for name in gates:
        seen, gate = 0, gates[name]
        while gate is not None:
            seen, gate = seen + 1, gates[gate]
        depth[name] = seen
    return sorted(parts, key=lambda part: depth[part.name])


def flatten(parts: Iterable[Part], total: float, outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    """What verl is given: numbers it averages and text it writes down."""
    logged: dict[str, Any] = {"score": total}
    for part in parts:
        outcome = outcomes[part.name]
        logged[part.name] = outcome.value
        if part.shape is not None and outcome.raw is not None:
            logged[f"{part.name}/raw"] = outcome.raw
        if part.gate is not None or part.sources is not None or part.on_error == SKIP:
            logged[f"{part.name}/counted"] = float(outcome.counted)
        if part.on_error != STOP:
            logged[f"{part.name}/errors"] = float(bool(outcome.error))
        logged.update({f"{part.name}/{key}": extra for key, extra in outcome.extras.items()})
    return logged


def read(result: Any) -> tuple[float, dict[str, Any]]:
    """A function's result as a finite number and the other things it reported. Raises ValueError."""
    if isinstance(result, Mapping):
        if "score" not in result:
            raise ValueError(f"returned a mapping without score: {sorted(map(str, result))}")
        return _number(result["score"]), {str(key): _plain(extra) for key, extra in result.items() if key != "score"}
    return _number(result), {}


def _number(value: Any) -> float:
    if value is None or isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise ValueError(f"returned {short(repr(value), 80)}, which is not a number")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"returned {number}, which is not a finite number")
    return number


def _plain(extra: Any) -> float | str | None:
    """What verl can average (a finite number), write down (text), or leave out (None)."""
    if extra is None or isinstance(extra, str):
        return extra if extra is None else extra[:EXTRA_CHARACTERS]
    if hasattr(extra, "__float__"):
        number = float(extra)
        return number if math.isfinite(number) else None
    return str(extra)[:EXTRA_CHARACTERS]


def load(folder: Path) -> Scorer:
    """Everything that the rewards file in `folder` declares. Raises RewardError naming a part that cannot be loaded."""
    limit_printing()
    declared = json.loads((folder / REWARDS_FILE).read_text(encoding="utf-8"))
    settings = Settings(folder, declared.get("model"), declared.get("sandbox"))
    parts = [_load_part(item, settings) for item in declared["rewards"]]
    _check_gates(parts)
    return Scorer(parts, folder, declared.get("combine") or "sum", declared.get("clip"))


def _load_part(item: Mapping[str, Any], settings: Settings) -> Part:
    where = ":".join(str(text) for text in (item.get("path") or item.get("module"), item.get("function")) if text)
    where = where or str(item["kind"])
    try:
        call = load_call(item, settings)
        call = by_step(call, item["steps"], read) if item.get("steps") is not None else call
        shaped = shape(item)
    except (Exception, SystemExit) as error:
        message = short(
            f"orbiter-spec: reward {item['name']!r} ({where}) cannot be loaded: {load_words(error, settings.folder)}"
        )
        print(message, file=sys.stderr, flush=True)
        raise RewardError(message) from error
    on_error, gate = item.get("on_error", STOP), item.get("only_if")
    return Part(
        name=item["name"],
        weight=float(item["weight"]),
        on_error=on_error if on_error in (STOP, SKIP) else float(on_error),
        where=where,
        call=call,
        sources=frozenset(item["sources"]) if item.get("sources") else None,
        gate=Gate(gate["part"], float(gate.get("at_least", 1.0))) if gate else None,
        bounds=item.get("range"),
        shape=shaped,
        error_limit=float(item.get("error_limit") or 1.0),
    )


def _check_gates(parts: list[Part]) -> None:
    """Every gate is a part, and none waits for itself."""
    gates = {part.name: part.gate.part for part in parts if part.gate is not None}
    names = {part.name for part in parts}
    for name, gate in gates.items():
        seen = {name}
        while gate in gates and gate not in seen:
            seen.add(gate)
            gate = gates[gate]
        if gate in seen or gates[name] not in names:
            raise RewardError(f"orbiter-spec: reward {name!r} cannot be loaded: only_if leads to {gate!r}")


_scorers: dict[str, Scorer] = {}
_lock = threading.Lock()


def scorer(folder: str) -> Scorer:
    """The parts of a folder, loaded once a process."""
    with _lock:
        if folder not in _scorers:
            _scorers[folder] = load(Path(folder))
        return _scorers[folder]
