"""The protocol of an environment: text in, text out.

An environment answers what the model writes. Every method may also be a coroutine. Subclassing `BaseEnvironment` is a
convenience: a class that has the methods is an environment. Standard library only, for it is copied into the compiled
folder, where `orbiter_spec.train` may not be installed and stands for these names all the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Outcome = tuple[str, float, bool, dict[str, Any]]
"""Observation, reward of the step, whether the episode is over, and anything worth recording."""


class EnvironmentConfig(Mapping[str, Any]):
    """The `args` of the spec and the row, as attributes and as a mapping. `seed` is the same for all samples of a row.

    An argument that nobody gave raises AttributeError as an attribute and KeyError as an item.
    """

    def __init__(self, values: Mapping[str, Any] | None = None, /, **further: Any) -> None:
        self._values = {**(values or {}), **further}

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("_values", {})
        if name not in values:
            raise AttributeError(f"the environment's args have no {name!r}; they have {', '.join(values) or 'nothing'}")
        return values[name]

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"EnvironmentConfig({self._values!r})"


class BaseEnvironment(ABC):
    """One episode of a game, a simulator or a service. A new one is made for every sample.

    A class may have two methods more: `close()`, called when the episode is over or given up, and `truncate() ->
    float`, asked when a limit of turns or tokens ends an episode that is not over: the reward that is still due.
    """

    def __init__(self, config: EnvironmentConfig | None = None) -> None:
        self.config = EnvironmentConfig() if config is None else config

    @abstractmethod
    def reset(self) -> str:
        """Begin the episode and return the first observation."""

    @abstractmethod
    def step(self, action: str) -> Outcome:
        """Do what the model wrote and return observation, reward, whether it is over, and further information."""

    def get_state_description(self) -> str:
        """The state as text; stands in for an observation that is empty."""
        return ""

    def get_prompt_prefix(self) -> str:
        """A system prompt, used where the row brings none. Empty: none."""
        return ""


@dataclass
class Trajectory:
    """One episode as lists of equal length: what was seen, what was done, what it gave, whether it ended there."""

    states: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    dones: list[bool] = field(default_factory=list)

    def append(self, state: str, action: str, reward: float, done: bool) -> None:
        """Add a step."""
        self.states.append(state)
        self.actions.append(action)
        self.rewards.append(reward)
        self.dones.append(done)

    @property
    def total_reward(self) -> float:
        """The return without discount."""
        return sum(self.rewards)

    def __len__(self) -> int:
        return len(self.actions)


class SimpleGameEnvironment(BaseEnvironment):
    """A room with things to take and something to attack: the smallest game of several turns.

    `take` gives 1 and a thing, while there are things (`items` in the config, 3 when left out); `attack` gives 5 and
    ends the game; anything else costs 0.1.
    """

    def reset(self) -> str:
        """Begin with an empty inventory."""
        self.score, self.inventory = 0.0, list[str]()
        return "Welcome to the game! You are in a room. Write take or attack."

    def step(self, action: str) -> Outcome:
        """Read the first word that the game knows."""
        words = action.lower()
        reward, done = -0.1, "attack" in words
        if done:
            reward = 5.0
        elif "take" in words and len(self.inventory) < int(self.config.get("items", 3)):
            self.inventory.append("item")
            reward = 1.0
        self.score += reward
        return self.get_state_description(), reward, done, {}

    def get_state_description(self) -> str:
        """Score and inventory."""
        return f"Score: {self.score:g}, Inventory: {self.inventory}"

    def get_prompt_prefix(self) -> str:
        """What the game is about."""
        return "You are playing a text game."
