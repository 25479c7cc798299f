"""Does the environment listen to the row? The same words are said in episodes of different rows, with the same seed.

A constructor or `reset` that takes an argument and forgets it gives one game for all rows, and training goes on as if
nothing were wrong. Where observations, rewards and ends are the same for all rows and words, it does not listen. An
environment that draws without its seed differs every time, and nothing is said about it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orbiter_spec.compilation import Compilation
from orbiter_spec.diagnostics import Diagnostic, Severity
from orbiter_spec.runtime.agent.client import Host
from orbiter_spec.runtime.agent.episode import Episode, row_args

WORD = re.compile(r"[A-Za-z0-9_-]{1,32}")
ROWS, ACTIONS, SEED = 4, 8, 0
ROUNDS, LONG = 3, 8
Row = Mapping[str, Any]


def fields_of(row: Row) -> dict[str, Any]:
    """The row as its author wrote it, which rows carry as JSON in `extra_info.fields`."""
    info: Mapping[str, Any] = row.get("extra_info") or {}
    fields = info.get("fields")
    found: dict[str, Any] = json.loads(fields) if isinstance(fields, str) else dict(info)
    return found


def expected_of(row: Row) -> str:
    """The row's expected answer as text; empty where it has none."""
    return str((row.get("reward_model") or {}).get("ground_truth") or "")


async def find_unheard(
    state: Compilation, settings: Mapping[str, Any], host: Host, rows: Sequence[Row]
) -> list[Diagnostic]:
    """A finding when episodes of rows with different arguments are the same. Raises UserCodeError."""
    different = list(_different(settings, rows))
    if len(different) < 2:
        return []
    actions = await _actions(settings, host, different)
    if not await _same(settings, host, different, actions):
        return []
    columns = ", ".join(settings["columns"].values())
    return [
        Diagnostic(
            "ORB570",
            f"the environment does the same whatever the row's {columns} is",
            state.place("agent.environment"),
            note=f"{len(different)} rows, the same after the words {', '.join(actions[:4])}",
            help="keep the argument in the environment and use it in reset and step",
            severity=Severity.WARNING,
        )
    ]


async def _actions(settings: Mapping[str, Any], host: Host, rows: Sequence[Row]) -> list[str]:
    """Words of the rows and of the environment, a few of each."""
    words = [word for row in rows for word in (expected_of(row), *WORD.findall(json.dumps(fields_of(row)))) if word]
    said = WORD.findall(str((await _heard(settings, host, rows[0], []))[0]))
    return list(dict.fromkeys([*words[:ACTIONS], *said[:ACTIONS]]))


async def _same(settings: Mapping[str, Any], host: Host, rows: Sequence[Row], actions: Sequence[str]) -> bool:
    """True when all rows play alike: with each word alone, and with those in turn that do not end the episode."""
    first, *others = rows
    going_on: list[str] = []
    for action in actions:
        heard = await _heard(settings, host, first, [action])
        if any([await _heard(settings, host, row, [action]) != heard for row in others]):
            return False
        going_on += [] if heard[-1][-1] is True else [action]
    plays = [going_on * ROUNDS, *([action] * LONG for action in going_on)]
    for play in plays:
        heard = await _heard(settings, host, first, play)
        if any([await _heard(settings, host, row, play) != heard for row in others]):
            return False
    return True


def _different(settings: Mapping[str, Any], rows: Sequence[Row]) -> Iterator[Row]:
    """Rows, a few, that give the environment different arguments."""
    seen: set[str] = set()
    for row in rows if settings["columns"] else ():
        key = json.dumps(row_args(settings, fields_of(row)), sort_keys=True, default=str)
        if key not in seen and len(seen) < ROWS:
            seen.add(key)
            yield row


async def _heard(settings: Mapping[str, Any], host: Host, row: Row, actions: Sequence[str]) -> list[tuple[Any, ...]]:
    """Everything the environment gives when `actions` are said in turn."""
    episode = await Episode.begin(settings, host, fields_of(row), SEED)
    try:
        heard: list[tuple[Any, ...]] = [(episode.prefix, episode.state)]
        for action in actions:
            if not episode.done:
                heard.append((await episode.step(action), episode.state, episode.done))
        return heard
    finally:
        await episode.close()
