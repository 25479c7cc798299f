"""Rewards that were earned while the response was made: by tools, by the turns of an interaction, by an environment.

verl's reward managers `naive` and `remote` hand on what the agent loop put into its `extra_fields`; here that is
`extra_info`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .steps import combine as combine_steps

EPISODE = "episode"
STEP_SOURCES = ("step_rewards", "turn_scores", "tool_rewards")


def environment(extra_info: Mapping[str, Any]) -> float:
    """The return of the episode that the loop of `agent.environment` played."""
    if EPISODE not in extra_info:
        raise ValueError("the sample has no episode: no agent.environment answered it")
    return float(extra_info[EPISODE]["environment_return"])


def step_rewards(
    extra_info: Mapping[str, Any], *, source: str = "", combine: str = "mean", discount: float = 1.0
) -> dict[str, float]:
    """The rewards of the steps of an episode as one number; `steps` counts them.

    Without `source` the first of `STEP_SOURCES` that is there and not empty is taken.
    """
    found = [name for name in ((source,) if source else STEP_SOURCES) if extra_info.get(name) is not None]
    if not found:
        asked = source or " or ".join(STEP_SOURCES)
        raise ValueError(f"the agent loop passed no {asked}; step rewards need one that does, and the naive manager")
    name = next((name for name in found if len(extra_info[name])), found[0])
    scores = [float(score) for score in extra_info[name]]
    return {"score": combine_steps(scores, combine, discount), "steps": float(len(scores))}
