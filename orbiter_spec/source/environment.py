"""`${env:NAME}` and `${env:NAME,default}` inside string values, filled in while reading.

A plain value that is nothing but one interpolation is typed like YAML typed in its place, so `nodes: ${env:NODES,1}` is
a number; quotes mean a string, here as everywhere. `$${env:NAME}` stands for the text itself. Keys are never touched,
and what a variable holds is not looked through again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping as Environment

from orbiter_spec.diagnostics import Diagnostic, Place, nearest
from orbiter_spec.source.nodes import Node, Scalar, scalars_of
from orbiter_spec.source.scalars import fault, resolve, stand_in

_OPEN = "${env:"
_INTERPOLATION = re.compile(r"(?P<escape>\$?)\$\{env:(?P<inside>[^}]*)(?P<close>\}?)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def fill_environment(root: Node, environ: Environment[str, str]) -> list[Diagnostic]:
    """Replace every interpolation below `root` in place; unknown variables are reported and leave their text."""
    found: list[Diagnostic] = []
    for scalar in scalars_of(root):
        if isinstance(scalar.value, str) and _OPEN in scalar.value:
            found.extend(fill_scalar(scalar, environ))
    return found


def fill_scalar(scalar: Scalar, environ: Environment[str, str]) -> list[Diagnostic]:
    """Replace the interpolations of one value."""
    text = str(scalar.value)
    found: list[Diagnostic] = []

    def fill(match: re.Match[str]) -> str:
        if match["escape"]:
            return match[0][1:]
        value = _look_up(match, environ, _place(scalar, match[0]))
        if isinstance(value, str):
            return value
        found.append(value)
        return match[0]

    filled = _INTERPOLATION.sub(fill, text)
    whole = _INTERPOLATION.fullmatch(text)
    typed = scalar.plain and not found and whole is not None and not whole["escape"]
    scalar.value = resolve(filled) if typed else filled
    reason = fault(scalar.value)
    if reason:
        id, message, cure = reason
        scalar.value = stand_in(scalar.value)
        found.append(Diagnostic(id, message, scalar.place(), "after filling in the environment", cure))
    scalar.faulty = scalar.faulty or bool(found)
    return found


def _look_up(match: re.Match[str], environ: Environment[str, str], place: Place) -> str | Diagnostic:
    name, comma, default = match["inside"].partition(",")
    if not match["close"]:
        return Diagnostic("ORB011", "interpolation is not closed", place, help="close it with }")
    if not _NAME.match(name):
        cure = "write ${env:NAME} or ${env:NAME,default}"
        return Diagnostic("ORB011", f"{name or 'nothing'} is not the name of a variable", place, help=cure)
    value = environ.get(name)
    if value is not None:
        return value
    if comma:
        return default.strip()
    guess = nearest(name, environ)
    cure = f"set it: export {name}=..., or give a default: ${{env:{name},default}}"
    cure = f"did you mean {guess}? or {cure}" if guess else cure
    return Diagnostic("ORB011", f"environment variable {name} is not set", place, help=cure)


def _place(scalar: Scalar, written: str) -> Place:
    """Where the interpolation itself stands inside its value."""
    start = scalar.source.text.find(written, scalar.start, scalar.end)
    return scalar.place() if start < 0 else scalar.source.place(start, start + len(written))
