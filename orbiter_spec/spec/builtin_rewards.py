"""The rewards that come with orbiter-spec: their names, arguments and one sentence each.

A table, so that the schema and the checks know them without loading what runs inside verl. The functions themselves are
in `runtime/reward_builtins.py`; a test holds their signatures to this table.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    default: bool | int | float | str
    description: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BuiltinReward:
    """One built-in: what it scores, its range, and its arguments by name."""

    description: str
    low: float
    high: float
    arguments: dict[str, BuiltinArgument]


_MARKER = BuiltinArgument(
    str,
    "",
    "Only the text after the last occurrence of this is compared, in either text that has it; empty: all of it.",
)
_IGNORE_CASE = BuiltinArgument(bool, False, "Take upper and lower case for the same.")

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
    "length_penalty": BuiltinReward(
        "0 up to the target length, then down in a straight line to -1 at twice the target and beyond.",
        -1.0,
        0.0,
        {
            "target": BuiltinArgument(int, REQUIRED, "Length that costs nothing, in units; at least 1."),
            "unit": BuiltinArgument(str, "characters", "What is counted.", ("characters", "words")),
        },
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
}
