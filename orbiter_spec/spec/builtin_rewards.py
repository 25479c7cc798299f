"""The rewards that come with orbiter-spec: their names, arguments and one sentence each.

A table, so that the schema and the checks know them without loading what runs inside verl. The functions themselves are
in `runtime/reward_library`; a test holds their signatures to this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final

REQUIRED: Final = "required"
"""Stands for the default of an argument that has none."""

CONTEXT_NAMES: Final = (
    "response",
    "solution_str",
    "output",
    "expected",
    "ground_truth",
    "prompt",
    "row",
    "extra_info",
    "data_source",
    "reward_router_address",
    "reward_model_tokenizer",
)
"""Parameter names of a reward function that are filled for each sample; `args` fills the others."""

RESERVED_NAMES: Final = frozenset({"score", "reward", "input", "output", "gts", "step", "uid", "acc_success_only"})
"""Names that verl's records already use for something else, and that no part of the reward may take."""


@dataclass(frozen=True, slots=True)
class BuiltinArgument:
    """One argument: its type, its default (or `REQUIRED`), what it does, and the values it may take if they are few."""

    type: type
    default: bool | int | float | str | None
    description: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BuiltinReward:
    """One built-in: what it scores, its range, its arguments by name, and the packages it needs where it runs."""

    description: str
    low: float
    high: float
    arguments: dict[str, BuiltinArgument]
    packages: tuple[str, ...] = ()


_MARKER = BuiltinArgument(
    str,
    "",
    "Only the text after the last occurrence of this is compared, in either text that has it; empty: all of it.",
)
_IGNORE_CASE = BuiltinArgument(bool, False, "Take upper and lower case for the same.")

SIMILARITIES: Final = ("ratio", "partial_ratio", "token_sort_ratio", "token_set_ratio", "levenshtein", "jaro_winkler")
CHARACTER_KINDS: Final = ("digits", "letters", "lowercase", "uppercase", "punctuation", "whitespace", "custom")

BUILTINS: Final[dict[str, BuiltinReward]] = {
    "exact_match": BuiltinReward(
        "1 when the response is the expected text, else 0; white space around either does not count.",
        0.0,
        1.0,
        {
            "marker": _MARKER,
            "ignore_case": _IGNORE_CASE,
        },
    ),
    "numeric_match": BuiltinReward(
        "1 when the response's final number or formula equals the expected one, as math-verify sees it, else 0.",
        0.0,
        1.0,
        {
            "tolerance": BuiltinArgument(float, 0.0, "Absolute difference up to which two numbers are equal."),
            "marker": _MARKER,
            "timeout_seconds": BuiltinArgument(
                float, 5.0, "Time to compare two formulas; after it they count as different and `timeout` as 1."
            ),
        },
        ("math-verify",),
    ),
    "multiple_choice": BuiltinReward(
        "1 when the letter that the response settles on (boxed, said to be the answer, or the last alone) is the "
        "expected one, else 0.",
        0.0,
        1.0,
        {
            "choices": BuiltinArgument(str, "ABCD", "The letters to choose from; the expected value may be an index."),
            "marker": _MARKER,
        },
    ),
    "regex": BuiltinReward(
        "1 when the pattern is found in the response (and its group is the expected text, if asked), else 0.",
        0.0,
        1.0,
        {
            "pattern": BuiltinArgument(str, REQUIRED, "Python regular expression, searched for in the response."),
            "compare": BuiltinArgument(bool, False, "Also compare a group of the last match with the expected text."),
            "group": BuiltinArgument(int, 0, "Number of the group to compare; 0 is the whole match."),
            "ignore_case": _IGNORE_CASE,
        },
    ),
    "json_schema": BuiltinReward(
        "1 when the response, or its last fenced block, is JSON that fits a JSON Schema, else 0. Needs jsonschema.",
        0.0,
        1.0,
        {
            "schema": BuiltinArgument(dict, None, "JSON Schema; any JSON will do without one."),
            "column": BuiltinArgument(str, "", "Column of the rows that holds each row's own schema."),
        },
        ("jsonschema",),
    ),
    "format_tags": BuiltinReward(
        "1 when each tag encloses something exactly once and in this order, as in <think>...</think>, else 0.",
        0.0,
        1.0,
        {
            "tags": BuiltinArgument(list, REQUIRED, "Names of the tags, in their order."),
            "strict": BuiltinArgument(bool, False, "Allow white space only outside the tags."),
            "partial": BuiltinArgument(bool, False, "Give up to 0.5 for the share of tags that are there once."),
        },
    ),
    "similarity": BuiltinReward(
        "Likeness of the response and the expected text, from 0 to 1. Needs rapidfuzz.",
        0.0,
        1.0,
        {
            "metric": BuiltinArgument(str, "ratio", "How likeness is measured, by rapidfuzz's names.", SIMILARITIES),
            "marker": _MARKER,
            "ignore_case": _IGNORE_CASE,
        },
        ("rapidfuzz",),
    ),
    "language": BuiltinReward(
        "1 when the response outside code blocks is in a language, as py3langid sees it, else 0. Needs py3langid.",
        0.0,
        1.0,
        {
            "code": BuiltinArgument(str, REQUIRED, "The language's ISO 639-1 code, such as en."),
            "minimum_characters": BuiltinArgument(int, 20, "A shorter response scores 0: it is too short to tell."),
        },
        ("py3langid",),
    ),
    "length_penalty": BuiltinReward(
        "0 up to the target length, then down in a straight line to -1 at twice the target and beyond.",
        -1.0,
        0.0,
        {
            "target": BuiltinArgument(int, REQUIRED, "Length that costs nothing, in units; at least 1."),
            "unit": BuiltinArgument(str, "characters", "What is counted.", ("characters", "words")),
        },
    ),
    "repetition_penalty": BuiltinReward(
        "Minus the share of n-grams that occurred before: 0 when each is new, near -1 for one thing said on and on.",
        -1.0,
        0.0,
        {
            "ngram": BuiltinArgument(int, 4, "Length of what is compared, in units; at least 1."),
            "unit": BuiltinArgument(str, "words", "What is counted.", ("words", "characters")),
        },
    ),
    "environment": BuiltinReward(
        "The return of the episode in `agent.environment`: the sum of its steps' rewards.",
        -inf,
        inf,
        {},
    ),
    "character_share": BuiltinReward(
        "Share of the response's characters that belong to a class; 0 for an empty response.",
        0.0,
        1.0,
        {
            "kind": BuiltinArgument(str, "digits", "The class of characters.", CHARACTER_KINDS),
            "custom": BuiltinArgument(str, "", "The characters of the class `custom`, one after another."),
        },
    ),
    "code_tests": BuiltinReward(
        "Share of a row's tests that the program in the response passes, in a confined process or at rewards.sandbox.",
        0.0,
        1.0,
        {
            "tests": BuiltinArgument(
                str, "tests", "Column of the rows with inputs and outputs, a list of them, or lines of assert."
            ),
            "score": BuiltinArgument(str, "share", "Give the share of tests passed, or 1 for all.", ("share", "all")),
            "language": BuiltinArgument(
                str, "python", "Language of the program; others than python need rewards.sandbox."
            ),
            "timeout_seconds": BuiltinArgument(float, 10.0, "Time for one test."),
            "memory_megabytes": BuiltinArgument(int, 512, "Memory for one test."),
            "limit": BuiltinArgument(int, 32, "Tests run at most."),
        },
    ),
    "step_rewards": BuiltinReward(
        "Rewards of the steps of an episode (tools, turns, environment) as one number.",
        -inf,
        inf,
        {
            "source": BuiltinArgument(
                str, "", "Field that the agent loop passes; empty: step_rewards, turn_scores or tool_rewards."
            ),
            "combine": BuiltinArgument(
                str, "mean", "How steps become one.", ("mean", "sum", "min", "max", "last", "product")
            ),
            "discount": BuiltinArgument(float, 1.0, "Each step counts this times the one before it."),
        },
    ),
    "reward_model": BuiltinReward(
        "Score of the discriminative model that rewards.model names, as it comes; see normalize.",
        -inf,
        inf,
        {},
        ("aiohttp",),
    ),
}
