"""Rewards for the form of a response: a chosen letter, JSON, tags, repetition, likeness, language.

What needs an optional library says which: jsonschema, rapidfuzz, py3langid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from .loading import need
from .texts import after, choice, text

SIMILARITIES = ("ratio", "partial_ratio", "token_sort_ratio", "token_set_ratio", "levenshtein", "jaro_winkler")
FENCE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)```", re.DOTALL)


def multiple_choice(response: str, expected: Any, *, choices: str = "ABCD", marker: str = "") -> float:
    """1.0 when the letter that the response settles on is the expected one, which may be given by its index."""
    wanted = choices[expected] if isinstance(expected, int) and not isinstance(expected, bool) else text(expected)
    wanted = wanted.strip().strip("().").upper()
    if wanted not in choices.upper() or len(wanted) != 1:
        raise ValueError(f"the expected value {text(expected)[:40]!r} is none of {choices}")
    return float(_chosen(after(marker, response), choices.upper()) == wanted)


def _chosen(response: str, letters: str) -> str | None:
    """The letter a response gives: boxed, else said to be the answer, else the last that stands alone."""
    one = f"[{re.escape(letters)}]"
    for pattern, flags in (
        (rf"\\boxed\{{\s*(?:\\text\{{)?\(?({one})\)?\}}", 0),
        (rf"\b(?:answer|option|choice)\b(?:\s+is)?\s*[:=]?\s*\**\(?({one})\b", re.IGNORECASE),
        (rf"(?:^|(?<=[\s(\[*:]))({one})(?=$|[\s).,:;\]*!?])", 0),
    ):
        found = re.findall(pattern, response, flags)
        if found:
            return str(found[-1]).upper()
    return None


def json_schema(
    response: str, row: Mapping[str, Any], *, schema: Mapping[str, Any] | None = None, column: str = ""
) -> float:
    """1.0 when the response, or its last fenced block, is JSON that fits the schema; any JSON without one."""
    wanted = _schema(row, schema, column)
    fenced = FENCE.findall(response)
    try:
        value = json.loads(fenced[-1] if fenced else response)
    except (ValueError, RecursionError):
        return 0.0
    return 1.0 if wanted is None else float(_validator(json.dumps(wanted, sort_keys=True)).is_valid(value))


def _schema(row: Mapping[str, Any], schema: Mapping[str, Any] | None, column: str) -> Any:
    if not column:
        return schema
    if column not in row:
        raise ValueError(f"the row has no {column}")
    return json.loads(row[column]) if isinstance(row[column], str) else row[column]


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    library = need("jsonschema", "jsonschema", "json_schema")
    wanted = json.loads(schema)
    kind = library.validators.validator_for(wanted, library.Draft202012Validator)
    try:
        kind.check_schema(wanted)
    except library.SchemaError as error:
        raise ValueError(f"schema is no JSON Schema: {error.message}") from None
    return kind(wanted)


def similarity(
    response: str, expected: Any, *, metric: str = "ratio", marker: str = "", ignore_case: bool = False
) -> float:
    """Likeness of the response and the expected text from 0.0 to 1.0, as rapidfuzz measures it."""
    choice("metric", metric, SIMILARITIES)
    fuzz = need("rapidfuzz", "rapidfuzz", "similarity")
    ours, wanted = after(marker, response), after(marker, text(expected))
    if ignore_case:
        ours, wanted = ours.casefold(), wanted.casefold()
    if metric == "levenshtein":
        return float(fuzz.distance.Levenshtein.normalized_similarity(ours, wanted))
    if metric == "jaro_winkler":
        return float(fuzz.distance.JaroWinkler.normalized_similarity(ours, wanted))
    return float(getattr(fuzz.fuzz, metric)(ours, wanted)) / 100


def format_tags(response: str, *, tags: list[str], strict: bool = False, partial: bool = False) -> float:
    """1.0 when each tag encloses something exactly once and in this order; `strict` allows no text outside."""
    if not tags:
        raise ValueError("tags is empty")
    pieces = [rf"<{re.escape(tag)}>(?:(?!</?{re.escape(tag)}>).)+</{re.escape(tag)}>" for tag in tags]
    once = [len(re.findall(f"<{re.escape(tag)}>", response)) == 1 == response.count(f"</{tag}>") for tag in tags]
    gap = r"\s*" if strict else ".*?"
    whole = rf"{gap}{gap.join(pieces)}{gap if strict else '.*'}"
    if all(once) and re.fullmatch(whole, response, re.DOTALL):
        return 1.0
    return sum(once) / len(tags) / 2 if partial else 0.0


def repetition_penalty(response: str, *, ngram: int = 4, unit: str = "words") -> float:
    """Minus the share of n-grams that occurred before: 0.0 when each is new, near -1.0 for one thing said on and on."""
    if ngram < 1:
        raise ValueError(f"ngram is {ngram}, and must be at least 1")
    pieces = response.split() if choice("unit", unit, ("words", "characters")) == "words" else list(response)
    total = len(pieces) - ngram + 1
    if total <= 0:
        return 0.0
    return len({tuple(pieces[index : index + ngram]) for index in range(total)}) / total - 1.0


def language(response: str, *, code: str, minimum_characters: int = 20) -> float:
    """1.0 when py3langid takes the response for the language `code` (ISO 639-1); 0.0 also when it is too short."""
    identifier = _languages()
    if code not in identifier.labels:
        raise ValueError(f"code is {code!r}, and must be one of {', '.join(sorted(identifier.labels))}")
    prose = FENCE.sub(" ", response).strip()
    if len(prose) < minimum_characters:
        return 0.0
    return float(identifier.classify(prose)[0] == code)


@lru_cache(maxsize=1)
def _languages() -> Any:
    langid = need("py3langid", "py3langid.langid", "language")
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
