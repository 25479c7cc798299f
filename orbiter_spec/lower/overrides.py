r"""Hydra's command-line overrides, read and written without Hydra.

The grammar is Hydra 1.3's: `key=value`, `+key=value`, `++key=value`, `~key`, `group@package=choice`, with quoted and
unquoted strings, numbers, lists and mappings. Sweeps (`a,b`, `range(..)`) make several runs out of one and are refused,
as `hydra.compose` does, and so are its functions. Hydra's parser takes about a millisecond for an override; this takes
a few microseconds for the usual `key=word`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_SPECIAL = r"[A-Za-z_$][\w$-]*"
_COUNT = r"(?:0|[1-9](?:_?[0-9])*)"
_PACKAGE = rf"(?:(?:{_SPECIAL}|{_COUNT})(?:\.(?:{_SPECIAL}|{_COUNT}))+|{_SPECIAL}|)"
_GROUP = r"[A-Za-z_][\w-]*(?:/[A-Za-z_][\w-]*)+"
_HEAD = re.compile(
    rf"(?P<sign>\+\+|\+|~|)(?P<key>{_GROUP}|{_PACKAGE})(?:@(?P<package>{_PACKAGE}))?(?P<equal>=[ \t]*|\Z)", re.ASCII
)
_SEGMENT = re.compile(rf"(?:{_SPECIAL}|{_COUNT})\Z", re.ASCII)

_INT = re.compile(rf"[+-]?{_COUNT}\Z", re.ASCII)
_POINT = rf"(?:{_COUNT}?\.[0-9](?:_?[0-9])*|{_COUNT}\.)"
_FLOAT = re.compile(rf"[+-]?(?:(?:{_POINT}|{_COUNT})[eE][+-]?[0-9](?:_?[0-9])*|{_POINT}|inf|nan)\Z", re.ASCII | re.I)
_BARE = re.compile(r"[\w/\-+.$%*@?|]+\Z", re.ASCII)

_BLANK = re.compile(r"[ \t]*")
_QUOTED = re.compile(r"""(?P<quote>['"])(?P<text>(?:[^\\]|\\.)*?)(?P=quote)""", re.DOTALL)
_RUN = re.compile(
    r"(?P<escape>(?:\\[\\()\[\]{}:=, \t])+)|(?P<reference>\$\{[^}]+\})"
    r"|(?P<text>[\w/\-\\+.$%*@?|])|(?P<colon>[ \t]*:[ \t]*)|(?P<blank>[ \t]+)",
    re.ASCII,
)
_WORDS = {"true": True, "false": False, "null": None}


class OverrideError(ValueError):
    """Text that Hydra's grammar refuses, or a value that it has no way to write."""


@dataclass(frozen=True, slots=True)
class Override:
    """One override. `value` is plain data, None for a `~key` without one.

    `add` is true for `+` and `++`, `force` for `++` only; `package` is what follows `@`, None without it.
    """

    key: str
    value: Any
    add: bool = False
    delete: bool = False
    force: bool = False
    package: str | None = None


def parse_override(text: str) -> Override:
    """Read one override; OverrideError says what is wrong with it."""
    head = _HEAD.match(text)
    if not head:
        raise OverrideError(f"{text!r} does not begin with a key and =")
    sign, equal = head["sign"], head["equal"]
    if not equal and sign != "~":
        raise OverrideError(f"{text!r} has no =")
    value = _value(text, head.end()) if equal else None
    return Override(head["key"], value, sign in ("+", "++"), sign == "~", sign == "++", head["package"])


def parse_value(text: str) -> Any:
    """Read what may stand after the `=`; the empty text is the empty string."""
    return _value(text, 0)


def _value(text: str, start: int) -> Any:
    rest = text[start:]
    if _BARE.match(rest):
        return _word(rest)
    if not rest:
        return ""
    value, at = _element(text, start)
    if at != len(text):
        raise OverrideError(f"{text[at:]!r} is left over at the end of {text!r}; quote a text that holds it")
    return value


def _word(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INT.match(text):
        return int(text)
    return float(text) if _FLOAT.match(text) else text


def _element(text: str, at: int) -> tuple[Any, int]:
    start = text[at : at + 1]
    if start == "[":
        return _list(text, at + 1)
    if start == "{":
        return _mapping(text, at + 1)
    if start and start in "'\"":
        return _quoted(text, at)
    return _primitive(text, at)


def _quoted(text: str, at: int) -> tuple[str, int]:
    found = _QUOTED.match(text, at)
    if not found:
        raise OverrideError(f"a quote is not closed in {text!r}")
    # Backslashes count only where they lead up to a quote: there two stand for one.
    pattern = rf"(\\+)({found['quote']}|\Z)"
    return re.sub(pattern, lambda run: run[1][: len(run[1]) // 2] + run[2], found["text"]), found.end()


def _primitive(text: str, at: int, *, key: bool = False) -> tuple[Any, int]:
    tokens: list[tuple[str, str]] = []
    while found := _RUN.match(text, at):
        kind = str(found.lastgroup)
        if key and kind in ("colon", "reference"):
            break
        tokens.append((kind, found[0]))
        at = found.end()
    while tokens and tokens[-1][0] == "blank":
        tokens.pop()
    while tokens and tokens[0][0] == "blank":
        del tokens[0]
    if not tokens:
        raise OverrideError(f"a value is missing at {text[at:]!r} in {text!r}")
    joined = "".join(part[1::2] if kind == "escape" else part for kind, part in tokens)
    return (_word(joined) if all(kind == "text" for kind, _ in tokens) else joined), at


def _list(text: str, at: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    at = _skip(text, at)
    while text[at : at + 1] != "]":
        item, at = _element(text, at)
        items.append(item)
        at = _next(text, at, "]")
    return items, at + 1


def _mapping(text: str, at: int) -> tuple[dict[Any, Any], int]:
    items: dict[Any, Any] = {}
    at = _skip(text, at)
    while text[at : at + 1] != "}":
        key, at = _primitive(text, at, key=True)
        at = _skip(text, at)
        if text[at : at + 1] != ":":
            raise OverrideError(f"a colon is missing at {text[at:]!r} in {text!r}")
        items[key], at = _element(text, _skip(text, at + 1))
        at = _next(text, at, "}")
    return items, at + 1


def _next(text: str, at: int, close: str) -> int:
    """The start of the next item, or of `close`."""
    at = _skip(text, at)
    if text[at : at + 1] == close:
        return at
    if text[at : at + 1] != ",":
        raise OverrideError(f"a comma or {close} is missing at {text[at:]!r} in {text!r}")
    at = _skip(text, at + 1)
    if text[at : at + 1] == close:
        raise OverrideError(f"a value is missing before {close} in {text!r}")
    return at


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def addressable(part: object) -> bool:
    """Whether `part` may be one step of a dotted key in an override."""
    return isinstance(part, str) and bool(_SEGMENT.match(part))


def format_override(key: str, value: Any, sign: str = "") -> str:
    """`sign` + `key=value` such that Hydra reads `value` back; OverrideError where its grammar cannot say it."""
    return f"{sign}{key}={format_value(value)}"


def format_value(value: Any) -> str:
    """Plain data in Hydra's grammar, unquoted where that is safe."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _format_text(value)
    if isinstance(value, list):
        return f"[{','.join(map(format_value, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{_format_key(key)}:{format_value(item)}' for key, item in value.items())}}}"
    return repr(value)


def _format_text(text: str) -> str:
    if _BARE.match(text) and "$" not in text and _word(text) is text:
        return text
    quote = '"' if "'" in text and '"' not in text else "'"
    body = re.sub(
        rf"(\\*)({quote})|(\\+)\Z", lambda run: (run[1] or run[3] or "") * 2 + ("\\" + quote if run[2] else ""), text
    )
    return f"{quote}{body}{quote}"


def _format_key(key: Any) -> str:
    if not isinstance(key, str):
        return format_value(key)
    escaped = re.sub(r"[\\()\[\]{}:=, \t]", r"\\\g<0>", key)
    try:
        read, end = _primitive(escaped, 0, key=True)
    except OverrideError:
        read, end = None, 0
    if read != key or end != len(escaped):
        raise OverrideError(f"Hydra's overrides have no way to write the key {key!r} inside a mapping")
    return escaped
