"""`orbiter-spec doctor`: can a run start here, and if not, what to type."""

from __future__ import annotations

import json
import os
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orbiter_spec.cli.output import Exit

if TYPE_CHECKING:
    from orbiter_spec.launch.doctor import Check


@click.command()
@click.option("--cluster", metavar="ADDRESS", help="Ask a Ray cluster too. Left out: RAY_ADDRESS, where it is set.")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(cluster: str | None, style: str) -> None:
    """Say which versions and devices this machine has, what is missing for a run, and what installs it.

    Ends with 1 when a run would not start here; `validate`, `plan` and `compile` need none of it.
    """
    from orbiter_spec.launch.doctor import examine, fails

    checks = examine(Path.cwd(), cluster or os.environ.get("RAY_ADDRESS") or None)
    if style == "json":
        click.echo(
            json.dumps({"version": 1, "ok": not fails(checks), "checks": [one.as_json() for one in checks]}, indent=1)
        )
    else:
        click.echo(as_text(checks))
    raise SystemExit(int(Exit.SPEC if fails(checks) else Exit.DONE))


def as_text(checks: list[Check]) -> str:
    """Aligned lines by group; what is to be done stands once, under the first line that asks for it."""
    width = max(len(check.name) for check in checks)
    said: set[str] = set()
    lines: list[str] = []
    for group, members in groupby(checks, key=lambda check: check.group):
        lines.append(f"{group}:")
        for check in members:
            lines.append(f"  {check.state.value:7} {check.name:{width}}  {check.found}")
            if check.help and check.help not in said:
                said.add(check.help)
                lines.append(f"          {'':{width}}  = help: {check.help}")
    wrong = sum(check.state.value in ("missing", "wrong") for check in checks)
    lines.append(f"\n{wrong} things stand in the way of a run here" if wrong else "\na run can start here")
    return "\n".join(lines)
