"""What an expansion does to a value once it is known: cutting and replacing. Text in, text out."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase


def halves(text: str) -> tuple[str, str]:
    r"""The two sides of `/` in `${X/old/new}`; `\/` is no separator."""
    match = re.match(r"((?:[^/\\]|\\.)*)(?:/(.*))?\Z", text, re.DOTALL)
    return (match[1], match[2] or "") if match else (text, "")


def trim(value: str, operator: str, pattern: str) -> str:
    """`${X##*/}` and its kin, for patterns with `*` at one end."""
    cuts = range(len(value) + 1)
    if operator.startswith("#"):
        order = cuts if operator == "#" else reversed(cuts)
        return next((value[cut:] for cut in order if fnmatchcase(value[:cut], pattern)), value)
    order = reversed(cuts) if operator == "%" else cuts
    return next((value[:cut] for cut in order if fnmatchcase(value[cut:], pattern)), value)
