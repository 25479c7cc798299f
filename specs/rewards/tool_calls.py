"""A reward of the example specs: did the tool calls work?"""

from __future__ import annotations

from typing import Any


def calls_succeeded(extra_info: dict[str, Any]) -> float:
    """Share of the sample's tool calls that gave an answer; 0 when there was none."""
    episode = extra_info["episode"]
    calls = episode["tool_calls"]
    return (calls - episode["tool_failures"]) / calls if calls else 0.0
