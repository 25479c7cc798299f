"""The reward function beside this file, with each row's data source among what it returns.

verl writes down what a reward function returned for each validation answer, but not where the row came from. `evaluate`
puts this file in the reward's place, so that scores can be counted by source. Text among the returned values is no
metric to verl.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

REWARD_FILE, FUNCTIONS = "reward.py", ("compute_score", "compute_score_async")
SOURCE = "data_source"


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("orbiter_reward", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def with_source(score: Any, data_source: str) -> dict[str, Any]:
    """A reward function's result, and the source."""
    found = dict(score) if isinstance(score, Mapping) else {"score": score}
    return {**found, SOURCE: data_source}


def _named(function: Any) -> Any:
    """`function` returning the source as well; a coroutine function stays one, as verl asks which it is."""
    if inspect.iscoroutinefunction(function):

        async def compute_async(data_source: str, **values: Any) -> dict[str, Any]:
            return with_source(await function(data_source=data_source, **values), data_source)

        return compute_async

    def compute(data_source: str, **values: Any) -> dict[str, Any]:
        return with_source(function(data_source=data_source, **values), data_source)

    return compute


def _wrap(path: Path) -> None:
    """Offer the reward's functions under their own names."""
    module = _load(path)
    for name in FUNCTIONS:
        if hasattr(module, name):
            globals()[name] = _named(getattr(module, name))


if (Path(__file__).resolve().parent / REWARD_FILE).exists():
    _wrap(Path(__file__).resolve().parent / REWARD_FILE)
