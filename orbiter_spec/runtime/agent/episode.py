"""The environment's side of one sample, and what is counted about it."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .client import Host, Session, UserCodeError, host_for, running_host
from .environments import Trajectory

SHOWN_FAILURES = 3


@dataclass
class Counts:
    """What happened in one episode; logged as `agent/<name>/mean`, `max` and `min` over a step's samples.

    `environment_return` is the sum of the steps' rewards, or the number that the spec sets for an episode that failed.
    """

    turns: int = 0
    environment_return: float = 0.0
    done: int = 0
    environment_failures: int = 0
    environment_timeouts: int = 0
    retries: int = 0
    failed: int = 0
    tool_calls: int = 0
    tool_failures: int = 0
    overlong_prompt: int = 0

    def failure(self, error: UserCodeError) -> None:
        """Count an environment's failure."""
        self.environment_failures += 1
        self.environment_timeouts += error.kind == "timeout"

    def as_numbers(self) -> dict[str, float]:
        """By name."""
        return {name: float(value) for name, value in asdict(self).items()}


@dataclass
class Episode:
    """One attempt at an episode: a session with its environment, and what it has given so far."""

    settings: Mapping[str, Any]
    host: Host
    session: Session
    trajectory: Trajectory = field(default_factory=Trajectory)
    state: str = ""
    prefix: str = ""
    done: bool = False
    truncates: bool = False

    @classmethod
    async def begin(cls, settings: Mapping[str, Any], host: Host, row: Mapping[str, Any], seed: int) -> Episode:
        """Open a session and reset the environment. Raises UserCodeError."""
        args = {**settings["args"], **row_args(settings, row)}
        name, uses = f"environment {settings['name']}", settings["episodes_per_process"]
        session = await host.open(name, settings["memory_megabytes"], uses)
        try:
            seconds = settings["timeout_seconds"]
            reply = await session.ask("reset", seconds, name="environment", args=args, seed=seed)
        except BaseException:
            await session.close()
            raise
        return cls(settings, host, session, state=reply["text"], prefix=reply["prefix"], truncates=reply["truncates"])

    async def step(self, action: str) -> float:
        """Let the environment answer; its observation is `state` afterwards. Raises UserCodeError."""
        reply = await self.session.ask("step", self.settings["timeout_seconds"], action=action)
        self.done = bool(reply["done"])
        self.trajectory.append(self.state, action, reply["reward"], self.done)
        self.state = reply["text"]
        return float(reply["reward"])

    async def truncate(self) -> float:
        """The reward that an episode is due which ends here and is not over. Raises UserCodeError."""
        if self.done or not self.truncates or not self.trajectory.actions:
            return 0.0
        reply = await self.session.ask("truncate", self.settings["timeout_seconds"])
        self.trajectory.rewards[-1] += reply["reward"]
        return float(reply["reward"])

    async def close(self) -> None:
        """End the episode; the session may be kept for another."""
        await self.session.close(polite=True)


def row_args(settings: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that the row fills. Raises UserCodeError for a column that it does not have."""
    missing = [column for column in settings["columns"].values() if column not in row]
    if missing:
        raise UserCodeError(
            f"environment {settings['name']}",
            f"takes the column {missing[0]}, and the row has {', '.join(row) or 'none'}",
            kind="row",
        )
    return {name: row[column] for name, column in settings["columns"].items()}


def row_seed(extra_info: Mapping[str, Any]) -> int:
    """The same number for all samples of a row, so that a group plays one game, and for each time it comes."""
    return zlib.crc32(f"{extra_info.get('split')}:{extra_info.get('index')}".encode())


async def find_host(settings: dict[str, Any]) -> Host:
    """The host of these settings, for a coroutine. Raises UserCodeError."""
    return await running_host(settings["host"])


def start_host(settings: dict[str, Any]) -> Host:
    """The host of these settings. Raises UserCodeError."""
    return host_for(settings["host"])


_failures: dict[str, int] = {}


def show(error: UserCodeError) -> None:
    """Print the first few failures of each kind in this process."""
    _failures[error.kind] = count = _failures.get(error.kind, 0) + 1
    if count <= SHOWN_FAILURES:
        print(error, file=sys.stderr, flush=True)
