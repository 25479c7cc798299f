"""A Gymnasium environment as one of text. Gymnasium is imported when one is asked for.

The observation is its text, or `render()` where the environment was made with `render_mode="ansi"`, or the printed
value. An action is the model's text for a `Text` space, else the first whole number in it; where there is none, or one
that the space does not have, the model is told which there are, and the step costs nothing and changes nothing.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

NUMBER = re.compile(r"-?\d+")


def load(reference: dict[str, Any], _named: None = None) -> Callable[..., GymnasiumEnvironment]:
    """A maker of environments with the id in `reference`."""
    gymnasium = importlib.import_module("gymnasium")

    def make(**args: Any) -> GymnasiumEnvironment:
        seed = args.pop("seed", None)
        return GymnasiumEnvironment(gymnasium.make(reference["name"], **args), seed)

    gymnasium.spec(reference["name"])
    return make


class GymnasiumEnvironment:
    """Text in, text out, around `environment`."""

    def __init__(self, environment: Any, seed: int | None) -> None:
        self.environment, self.seed = environment, seed

    def reset(self, seed: int | None = None) -> str:
        """The first observation, from the seed that the args name or the row's."""
        observed, _ = self.environment.reset(seed=seed if self.seed is None else self.seed)
        return self._text(observed)

    def step(self, action: str) -> tuple[str, float, bool, dict[str, Any]]:
        """Gymnasium's step with the action that the text names."""
        chosen = self._action(action)
        if chosen is None:
            return f"Write a whole number: {self.environment.action_space}.", 0.0, False, {}
        observed, reward, terminated, truncated, info = self.environment.step(chosen)
        return self._text(observed), float(reward), bool(terminated or truncated), info

    def close(self) -> None:
        """Close the environment."""
        self.environment.close()

    def _action(self, text: str) -> Any:
        space = self.environment.action_space
        if type(space).__name__ == "Text":
            return text
        found = NUMBER.search(text)
        value = int(found.group()) if found else None
        return value if value is not None and space.contains(value) else None

    def _text(self, observed: Any) -> str:
        if isinstance(observed, str):
            return observed
        drawn = self.environment.render() if self.environment.render_mode == "ansi" else None
        return drawn if isinstance(drawn, str) else str(observed)
