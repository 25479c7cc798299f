"""Routes name a value inside a document: `rewards[0].weight` is `("rewards", 0, "weight")`.

Two spellings are read: `a[0].b` and `a.0.b`. A key that is no plain word is quoted in brackets, so that every route can
be written and read back: `verl.overrides["actor_rollout_ref.actor.tau_pos"]`.
"""

from __future__ import annotations

import json
import re

Route = tuple[str | int, ...]

_PART = re.compile(r'\[(?P<index>\d{1,9})\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]|(?P<dot>\.)?(?P<word>[^\s.\[\]"=]+)')
_WORD = re.compile(r'[^\s.\[\]"=]+\Z')


def parse_route(text: str) -> Route:
    """The route that `text` spells. Raises ValueError with a lower-case reason when it spells none."""
    parts, end = scan_route(text)
    if end != len(text):
        raise ValueError(f"{text[end:]!r} cannot follow {text[:end]!r} in a path")
    return tuple(part for part, _, _ in parts)


def scan_route(text: str) -> tuple[list[tuple[str | int, int, int]], int]:
    """The longest route at the start of `text`: its parts, each with start and end offset, and where it ends."""
    parts: list[tuple[str | int, int, int]] = []
    end = 0
    while found := _PART.match(text, end):
        if found["word"] is not None and bool(found["dot"]) != bool(parts):
            break
        if not parts and found["index"]:
            break
        kind = found.lastgroup or "word"
        parts.append((_part(kind, found[kind]), found.start(kind), found.end(kind)))
        end = found.end()
    if not parts:
        raise ValueError("a path starts with a key, as in algorithm.learning_rate")
    return parts, end


def _part(kind: str, text: str) -> str | int:
    if kind == "quoted":
        return str(json.loads(text, strict=False))
    if kind == "index" or (text.isascii() and text.isdigit() and len(text) < 10):
        return int(text)
    return text


def format_route(route: Route) -> str:
    """`("a", 0, "b")` as `a[0].b`; the empty route is the empty string."""
    text = ""
    for part in route:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _WORD.match(part) and not part.isdigit():
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(part, ensure_ascii=False)}]"
    return text
