"""The environment and the tools of a spec, played without a model.

A random model seldom writes what a game or a tool understands, so a training of two steps shows little of them. Here
the environment is walked with the row's expected answer and with words from its own observations, and each tool is
called once. User code runs where it runs in training: in the processes of `runtime/agent`, with its time and memory
limits.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from orbiter_spec.compilation import Compilation
from orbiter_spec.data.rows import TRAIN_FILE
from orbiter_spec.diagnostics import Diagnostic, Severity, nearest
from orbiter_spec.rehearse.row_arguments import WORD, expected_of, fields_of, find_unheard
from orbiter_spec.runtime.agent.client import Host, UserCodeError
from orbiter_spec.runtime.agent.episode import Episode, row_seed, start_host
from orbiter_spec.runtime.agent.settings import AGENT_FILE, read_settings

STEPS, EPISODES, SECONDS = 64, 8, 60.0
SHOWN_LETTERS = 120
MENTIONS = (
    re.compile(r"`([A-Za-z_][A-Za-z0-9_]*)(?:\([^`]*\))?`"),
    re.compile(r"[\"']name[\"']\s*:\s*[\"']([A-Za-z_][A-Za-z0-9_]*)[\"']"),
    re.compile(r"\b(?:tool|function)\s+(?:called\s+|named\s+)?[\"'`]?([a-z]+_[a-z0-9_]+|[a-z]+)[\"'`]?\b"),
    re.compile(r"\bthe\s+[\"'`]?([a-z_][a-z0-9_]*)[\"'`]?\s+(?:tool|function)\b"),
)


@dataclass(frozen=True, slots=True)
class Walked:
    """One episode played without a model."""

    steps: int
    total_reward: float
    done: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Called:
    """One call of a tool with arguments made up from its types."""

    tool: str
    arguments: Mapping[str, Any]
    answer: str
    seconds: float


@dataclass(slots=True)
class Played:
    """What was played, and what was found."""

    episodes: list[Walked] = field(default_factory=list)
    calls: list[Called] = field(default_factory=list)
    findings: list[Diagnostic] = field(default_factory=list)


def play_agent(state: Compilation, compiled: Path) -> Played:
    """Walk the environment and call the tools that were compiled to `compiled`, in `SECONDS` at most."""
    played = Played()
    played.findings += mentions(state)
    if not (compiled / AGENT_FILE).is_file():
        return played
    settings = read_settings(str(compiled / AGENT_FILE))
    try:
        host = start_host(settings)
    except UserCodeError as error:
        played.findings.append(
            _failure(state, "agent.environment" if settings["environment"] else "agent.tools", error)
        )
        return played
    try:
        asyncio.run(_play(state, settings, host, _rows(compiled), played))
    finally:
        host.close()
    return played


def _rows(compiled: Path) -> list[dict[str, Any]]:
    from pyarrow import parquet

    path = compiled / TRAIN_FILE
    rows: list[dict[str, Any]] = parquet.read_table(path).slice(0, EPISODES).to_pylist() if path.is_file() else []
    return rows


async def _play(
    state: Compilation, settings: dict[str, Any], host: Host, rows: Sequence[Mapping[str, Any]], played: Played
) -> None:
    end = time.monotonic() + SECONDS
    if settings["environment"] is not None:
        for row in rows:
            if time.monotonic() < end and not played.findings:
                await _episode(state, settings["environment"], host, row, end, played)
        played.findings += _endless(state, played.episodes)
        if time.monotonic() < end and not any(found.severity is Severity.ERROR for found in played.findings):
            played.findings += await find_unheard(state, settings["environment"], host, rows)
    for name, tool in settings["tools"].items():
        if time.monotonic() < end and name in host.signatures:
            await _call(state, name, tool, host, played)


async def _episode(
    state: Compilation, settings: dict[str, Any], host: Host, row: Mapping[str, Any], end: float, played: Played
) -> None:
    info: Mapping[str, Any] = row.get("extra_info") or {}
    started, draw = time.monotonic(), random.Random(row_seed(info))
    try:
        episode = await Episode.begin(settings, host, fields_of(row), row_seed(info))
        try:
            words = [expected_of(row), ""]
            while not episode.done and len(episode.trajectory) < STEPS and time.monotonic() < end:
                words += WORD.findall(f"{episode.prefix} {episode.state}")
                await episode.step(draw.choice(words) if len(episode.trajectory) else words[0])
        finally:
            await episode.close()
    except UserCodeError as error:
        played.findings.append(_failure(state, "agent.environment", error))
        return
    path = episode.trajectory
    played.episodes.append(Walked(len(path), path.total_reward, episode.done, time.monotonic() - started))


def _endless(state: Compilation, episodes: Sequence[Walked]) -> Iterator[Diagnostic]:
    if not episodes or any(one.done for one in episodes):
        return
    longest = max(one.steps for one in episodes)
    yield Diagnostic(
        "ORB567",
        "no episode of the environment came to an end",
        state.place("agent.environment"),
        note=f"{len(episodes)} episodes of up to {longest} steps, with the expected answer and words it had said",
        help="return done=True from step when the episode is over; agent.turns.max cuts it otherwise",
        severity=Severity.WARNING,
    )


async def _call(state: Compilation, name: str, tool: Mapping[str, Any], host: Host, played: Played) -> None:
    _doc, parameters, hints = host.signatures[name]
    arguments = {parameter: example(hints.get(parameter)) for parameter, _kind, required in parameters if required}
    started = time.monotonic()
    session = await host.open(f"tool {name}", tool["memory_megabytes"])
    try:
        reply = await session.ask("call", tool["timeout_seconds"], name=name, arguments=arguments)
        answer = str(reply["text"])[:SHOWN_LETTERS]
    except UserCodeError as error:
        answer = str(error)
        played.findings.append(
            _refused(state, error) if error.kind == "error" else _failure(state, "agent.tools", error)
        )
    finally:
        await session.close()
    played.calls.append(Called(name, arguments, answer, time.monotonic() - started))


def example(hint: Any) -> Any:
    """A value of a type that a tool's parameter is annotated with; text where nothing is known."""
    examples: dict[Any, Any] = {int: 1, float: 1.0, bool: True, list: [], dict: {}, str: "1"}
    return examples.get(getattr(hint, "__origin__", hint), "1")


def mentions(state: Compilation) -> Iterator[Diagnostic]:
    """Tools that the instructions or the prompt speak of by a name that no tool has."""
    assert state.experiment is not None and state.inputs is not None
    names = {str(tool["name"]) for tool in map(_named, state.inputs.tools)} if state.inputs.tools else set()
    for route in ("agent.instructions", "agent.prompt"):
        text = getattr(state.experiment.agent, route.rpartition(".")[2]) or ""
        spoken = {word for pattern in MENTIONS for word in pattern.findall(text)} if names else set()
        for word in sorted(spoken - names):
            close = nearest(word, names)
            if close is not None:
                yield Diagnostic(
                    "ORB568",
                    f"no tool is called {word}",
                    state.place(route),
                    note=f"the tools are {', '.join(sorted(names))}; the model calls what it is told of",
                    help=f"write {close}, or give the tool that name",
                )


def _named(tool: Mapping[str, Any]) -> dict[str, str]:
    """The name that the model calls, of an entry of tools.yaml."""
    return {"name": str((tool.get("config") or {}).get("name") or (tool.get("config") or {}).get("tool") or "")}


def _refused(state: Compilation, error: UserCodeError) -> Diagnostic:
    """A tool may well refuse arguments that were made up, so this is no error."""
    failed = _failure(state, "agent.tools", error)
    help = "the arguments were made up from its annotations: check that these are the types it works with"
    return replace(failed, help=help, severity=Severity.WARNING)


def _failure(state: Compilation, route: str, error: UserCodeError) -> Diagnostic:
    where = f"at {error.where}" if error.where else ""
    return Diagnostic("ORB566", f"{error.who} {error.said}", state.place(route), note=where)
