"""How commands print findings and end: one place for formats, colour and exit codes."""

from __future__ import annotations

import importlib
import os
import sys
from enum import IntEnum
from typing import NoReturn

import click

from orbiter_spec.diagnostics import Report, Severity

FORMATS = ("text", "json", "sarif", "github", "junit")


class Exit(IntEnum):
    """What a script can trust."""

    DONE = 0
    SPEC = 1
    USAGE = 2
    RUN = 3
    INTERRUPTED = 130


def print_report(report: Report, style: str) -> None:
    """Print `report` in one of FORMATS; text goes to standard error, formats for machines to standard output."""
    if style == "text":
        from orbiter_spec.diagnostics.text import render

        text = render(report, color=_wants_color())
        if text:
            click.echo(text, err=True)
        return
    renderer = importlib.import_module(f"orbiter_spec.diagnostics.{style}")
    click.echo(renderer.render(report))


def fails(report: Report, strict: bool = False) -> bool:
    """True when the command must not go on."""
    return not report.ok or (strict and report.count(Severity.WARNING) > 0)


def stop(code: Exit) -> NoReturn:
    """End the command with `code`."""
    raise SystemExit(int(code))


def _wants_color() -> bool:
    return sys.stderr.isatty() and "NO_COLOR" not in os.environ
