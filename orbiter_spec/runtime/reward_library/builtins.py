"""The rewards that come with orbiter-spec, by the names of the spec.

Each function takes what it needs of a sample by name, as users' functions do, and its keyword arguments are those of
the table in `spec/builtin_rewards.py`. It raises ValueError when it was asked for something that cannot be scored. One
that takes `settings` is given `settings.Settings`; one that is a coroutine function runs on the library's loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .classifier import reward_model
from .code import code_tests
from .episode import environment, step_rewards
from .formats import format_tags, json_schema, language, multiple_choice, repetition_penalty, similarity
from .maths import numeric_match
from .texts import character_share, exact_match, length_penalty, regex

PROBED = frozenset(
    {
        "exact_match",
        "numeric_match",
        "regex",
        "length_penalty",
        "character_share",
        "similarity",
        "format_tags",
        "repetition_penalty",
        "language",
    }
)
"""Those that are called once while the run starts, so that bad arguments and missing libraries are found then."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        exact_match,
        numeric_match,
        multiple_choice,
        regex,
        json_schema,
        format_tags,
        similarity,
        language,
        length_penalty,
        repetition_penalty,
        character_share,
        code_tests,
        environment,
        step_rewards,
        reward_model,
    )
}
