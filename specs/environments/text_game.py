"""The environment of the example specs: a room with things to take and something to attack.

A real game reads words. This one reads the first letter, so that a model with random weights finds the rules in a few
steps: a to m takes, n to z attacks.
"""

from __future__ import annotations

from typing import Any


class TextGame:
    """`take` gives 1 while there are things, `attack` gives 5 and ends the game, anything else costs 0.1."""

    def __init__(self, items: int = 2) -> None:
        self.items = items

    def reset(self) -> str:
        """Begin with an empty inventory."""
        self.inventory = 0
        return "take or use?"

    def step(self, action: str) -> tuple[str, float, bool, dict[str, Any]]:
        """Do what the first letter says."""
        letter = action.strip()[:1].lower()
        if "n" <= letter <= "z":
            return "you win", 5.0, True, {}
        if "a" <= letter <= "m" and self.inventory < self.items:
            self.inventory += 1
            return f"{self.inventory} things", 1.0, False, {}
        return "nothing", -0.1, False, {}
