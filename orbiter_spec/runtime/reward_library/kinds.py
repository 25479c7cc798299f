"""What a part of the reward can be: one table, an entry a kind.

A loader takes an entry of rewards.json and gives a coroutine function from a sample's values to a score, or to a
mapping with `score` and what else is to be logged. It raises RewardError or ValueError for an entry that cannot work,
before the first sample. A new built-in needs no kind of its own: it is a function in `builtins.FUNCTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .builtins import FUNCTIONS, PROBED
from .errors import RewardError
from .function import Batches, Call, call_function
from .loading import find_function
from .settings import Settings
from .signature import Bound

Loader = Callable[[Mapping[str, Any], Settings], Call]


def _function(item: Mapping[str, Any], settings: Settings) -> Call:
    bound = Bound(find_function(settings.folder, item), item.get("args") or {})
    call = call_function(bound, settings.folder, item)
    return Batches(call, int(item["batch"])) if item.get("batch") else call


def _builtin(item: Mapping[str, Any], settings: Settings) -> Call:
    name = item["function"]
    if name not in FUNCTIONS:
        raise RewardError(f"there is no function {name!r}")
    function, args = FUNCTIONS[name], dict(item.get("args") or {})
    if (
        "settings"
        in function.__code__.co_varnames[: function.__code__.co_argcount + function.__code__.co_kwonlyargcount]
    ):
        args["settings"] = settings
    bound = Bound(function, args)
    if name in PROBED:
        bound({"response": "0", "expected": "0"})
    return call_function(bound, settings.folder, item)


def _judge(item: Mapping[str, Any], settings: Settings) -> Call:
    from .judge import load_judge

    return load_judge(item, settings)


KINDS: dict[str, Loader] = {"function": _function, "builtin": _builtin, "judge": _judge}


def load_call(item: Mapping[str, Any], settings: Settings) -> Call:
    """The entry as a coroutine function. Raises RewardError, ValueError, or whatever loading a user's file raises."""
    if item["kind"] not in KINDS:
        raise RewardError(f"kind is {item['kind']!r}, and must be one of {', '.join(KINDS)}")
    return KINDS[item["kind"]](item, settings)
