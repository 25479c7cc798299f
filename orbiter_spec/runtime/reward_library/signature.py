"""Functions of any accepted signature, called with the values of a sample by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from .errors import RewardError

CONTEXT_NAMES = (
    "response",
    "solution_str",
    "output",
    "expected",
    "ground_truth",
    "prompt",
    "row",
    "extra_info",
    "data_source",
)
"""Parameter names of a reward function that are filled for each sample; `args` of the spec fills the others."""

VERL_NAMES = ("reward_router_address", "reward_model_tokenizer")
"""Parameter names that verl fills when a reward model runs beside the reward function."""


class Bound:
    """A function with the arguments that the spec gives; what it takes of a sample is found once."""

    def __init__(self, function: Callable[..., Any], args: Mapping[str, Any]) -> None:
        parameters = list(inspect.signature(function).parameters.values())
        named = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        _check_parameters(named, open_ended, args)
        self.function = function
        self.args = dict(args)
        self._first = [p.name for p in named if p.kind is p.POSITIONAL_ONLY]
        rest = {p.name for p in named if p.kind is not p.POSITIONAL_ONLY}
        self._rest = rest | ({*args, *VERL_NAMES} - set(self._first) if open_ended else set())
        self.takes = {*self._first, *self._rest}
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004  objects with an async __call__
        )

    def __call__(self, sample: Mapping[str, Any]) -> Any:
        """The function's result; a coroutine when it is async."""
        values = {**sample, **self.args}
        before = [values[name] for name in takewhile(values.__contains__, self._first)]
        return self.function(*before, **{name: values[name] for name in self._rest if name in values})

    def needed(self, sample: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the sample that the function takes, for sending them elsewhere."""
        return {name: value for name, value in sample.items() if name in self.takes}


def together(samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Samples as one whose values are lists; what verl fills is the same for all and stays one value."""
    names = {name for sample in samples for name in sample}
    return {
        name: samples[0].get(name) if name in VERL_NAMES else [sample.get(name) for sample in samples] for name in names
    }


def _check_parameters(named: list[inspect.Parameter], open_ended: bool, args: Mapping[str, Any]) -> None:
    unknown = set(args) - {parameter.name for parameter in named}
    if unknown and not open_ended:
        raise RewardError(f"args has {', '.join(sorted(unknown))}, which the function does not take")
    for parameter in named:
        known = parameter.name in CONTEXT_NAMES or parameter.name in VERL_NAMES or parameter.name in args
        if parameter.default is parameter.empty and not known:
            names = ", ".join(CONTEXT_NAMES)
            raise RewardError(f"parameter {parameter.name!r} has no value; give it under args, or use one of {names}")
