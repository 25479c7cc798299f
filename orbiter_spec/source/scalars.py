"""What a plain scalar means: the core schema of YAML 1.2, and nothing beyond it.

ruamel's own resolver also knows timestamps and numbers with underscores. Here a date is a string and `1_000` is a
string, so the table below is the whole language: `on` is a string, `1e-6` is a float, `010` is ten, `0o10` is eight.
"""

from __future__ import annotations

import math
import re

from orbiter_spec.source.limits import MAX_INTEGER
from orbiter_spec.source.text import readable

Value = str | int | float | bool | None

_WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_OCTAL = re.compile(r"0o[0-7]+\Z")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_LONGEST_NUMBER = 400


def resolve(text: str) -> Value:
    """The value of a plain scalar. Whole numbers too long to be meant come back as an infinite float."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _INTEGER.match(text):
        return int(text) if len(text) <= _LONGEST_NUMBER else math.inf
    if _FLOAT.match(text):
        return float(text)
    if _OCTAL.match(text):
        return int(text[2:], 8) if len(text) <= _LONGEST_NUMBER else math.inf
    if _HEXADECIMAL.match(text):
        return int(text[2:], 16) if len(text) <= _LONGEST_NUMBER else math.inf
    return text


def fault(value: Value) -> tuple[str, str, str] | None:
    """Why a scalar cannot be used, as (id, message, help), or None when it can."""
    if isinstance(value, float) and not math.isfinite(value):
        message = "value is not a number (NaN)" if math.isnan(value) else "number is infinite"
        return "ORB024", message, "write a finite number"
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        return "ORB023", "whole number does not fit in 64 bits", f"write a number up to {MAX_INTEGER}"
    if isinstance(value, str):
        return _text_fault(value)
    return None


def stand_in(value: Value) -> Value:
    """A harmless value of the same type for one that has been reported, so that later phases can go on."""
    if fault(value) is None:
        return value
    if isinstance(value, str):
        return readable(value.replace("\0", "?"))
    return 1.0 if isinstance(value, float) else 1


def _text_fault(value: str) -> tuple[str, str, str] | None:
    if value.isprintable():
        return None
    if "\0" in value:
        return "ORB023", "string holds a NUL character", 'remove "\\0" from it'
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return "ORB023", "string holds half of a surrogate pair", "write the character itself instead of \\u escapes"
    return None
