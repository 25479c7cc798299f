"""The reward path of a run: what is declared in rewards.json becomes one score for each response.

`compile` copies this folder byte for byte beside `reward.py`, which is what verl loads. It imports the standard library
only; what a part needs beyond that (math-verify, aiohttp, Jinja2, rapidfuzz) is imported when such a part is loaded,
and a missing one is named. Imports inside are relative, because the copy is loaded under a name of its own.

    loading     a user's function by file or module          kinds     what a part can be: the one table
    signature   any accepted signature, called by name       function  a part's function: thread, loop, process, batch
    watch       threads with a time limit                    process   a function in a process that can be ended
    judge       a language model that grades                 scoring   gates, ranges, weights, errors, the total
"""

from .errors import CallError, RewardError
from .process import serve
from .scoring import Scorer, load, scorer

__all__ = ["CallError", "RewardError", "Scorer", "load", "scorer", "serve"]
