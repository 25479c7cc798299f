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

from orbiter_spec.compiler import Compilation
from orbiter_spec.diagnostics import Diagnostic, Severity
from orbiter_spec.runtime.agent.client import Host
from orbiter_spec.runtime.agent.episode import Episode, row_args

WORD = re.compile(r"[A-Za-z0-9_-]{1,32}")
ROWS, ACTIONS, SEED = 4, 12, 0
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
    first = await _heard(settings, host, different[0], [])
    words = [word for row in different for word in (expected_of(row), *WORD.findall(json.dumps(fields_of(row))))]
    actions = list(dict.fromkeys([word for word in words if word] + WORD.findall(str(first))))[:ACTIONS]
    heard = [await _heard(settings, host, row, actions) for row in different]
    if any(one != heard[0] for one in heard):
        return []
    columns = ", ".join(settings["columns"].values())
    return [
        Diagnostic(
            "ORB570",
            f"the environment does the same whatever the row's {columns} is",
            state.place("agent.environment"),
            note=f"{len(different)} rows, {len(heard[0]) - 1} equal steps with the words {', '.join(actions[:4])}",
            help="keep the argument in the environment and use it in reset and step",
            severity=Severity.WARNING,
        )
    ]


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
