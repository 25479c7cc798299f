"""Rewards that look at the text of a response, and what the other built-ins need of texts. Standard library only."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable
from functools import lru_cache
from typing import Any


def exact_match(response: str, expected: Any, *, marker: str = "", ignore_case: bool = False) -> float:
    """1.0 when the texts are equal after stripping white space."""
    ours, wanted = after(marker, response), after(marker, text(expected))
    return float(ours.casefold() == wanted.casefold() if ignore_case else ours == wanted)


def regex(
    response: str, expected: Any, *, pattern: str, compare: bool = False, group: int = 0, ignore_case: bool = False
) -> float:
    """1.0 when the pattern is found, and with `compare` when the last match's group is the expected text."""
    expression = _compiled(pattern, ignore_case)
    if not 0 <= group <= expression.groups:
        raise ValueError(f"group is {group}, and the pattern has {expression.groups}")
    matches = list(expression.finditer(response))
    if not matches or not compare:
        return float(bool(matches))
    found, wanted = (matches[-1].group(group) or "").strip(), text(expected).strip()
    return float(found.casefold() == wanted.casefold() if ignore_case else found == wanted)


def length_penalty(response: str, *, target: int, unit: str = "characters") -> float:
    """0.0 up to `target`, then linear to -1.0 at twice the target."""
    if target < 1:
        raise ValueError(f"target is {target}, and must be at least 1")
    length = len(response.split()) if choice("unit", unit, ("characters", "words")) == "words" else len(response)
    return -min(1.0, max(0.0, (length - target) / target))


_KINDS: dict[str, Callable[[str], bool]] = {
    "digits": lambda character: "0" <= character <= "9",
    "letters": str.isalpha,
    "lowercase": str.islower,
    "uppercase": str.isupper,
    "punctuation": lambda character: character in string.punctuation,
    "whitespace": str.isspace,
}


def character_share(response: str, *, kind: str = "digits", custom: str = "") -> float:
    """Share of characters of one kind, from 0.0 to 1.0."""
    if choice("kind", kind, (*_KINDS, "custom")) == "custom":
        if not custom:
            raise ValueError("kind is custom, and custom names no character")
        count = sum(character in custom for character in response)
    else:
        count = sum(map(_KINDS[kind], response))
    return count / len(response) if response else 0.0


def text(expected: Any) -> str:
    """The expected value as text. Raises ValueError when the row has none."""
    if expected is None:
        raise ValueError("the row has no expected value")
    return expected if isinstance(expected, str) else json.dumps(expected, ensure_ascii=False)


def after(marker: str, whole: str) -> str:
    """What stands behind the last marker, without white space around it; all of it when there is none."""
    return whole.rpartition(marker)[2].strip() if marker else whole.strip()


def choice(name: str, value: str, known: tuple[str, ...]) -> str:
    """`value`, when it is a known one. Raises ValueError otherwise."""
    if value not in known:
        raise ValueError(f"{name} is {value!r}, and must be one of {', '.join(known)}")
    return value


@lru_cache(maxsize=64)
def _compiled(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise ValueError(f"pattern {pattern!r} is no regular expression: {error}") from None
