"""`orbiter-spec diff`: two experiments as verl would see them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orbiter_spec.cli.output import Exit, print_report, stop

if TYPE_CHECKING:
    from orbiter_spec.lower.meaning import Difference


@click.command()
@click.argument("left")
@click.argument("right")
@click.option("--exit-code", "exits", is_flag=True, help="End with 1 when the configurations differ.")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(left: str, right: str, exits: bool, style: str) -> None:
    """Compare two specs, compiled folders, run folders or verl YAML files by what a difference means."""
    from orbiter_spec.lower.meaning import differences

    found = differences(configuration(left), configuration(right))
    if style == "json":
        content = [{"key": one.key, "left": one.left, "right": one.right, "meaning": one.meaning} for one in found]
        click.echo(json.dumps(content, indent=1, ensure_ascii=False, default=str))
    else:
        click.echo(as_text(found))
    if exits and found:
        stop(Exit.SPEC)


def as_text(found: list[Difference]) -> str:
    """Differences under the heading of what they mean."""
    if not found:
        return "no differences"
    lines: list[str] = []
    for meaning, group in groupby(found, key=lambda difference: difference.meaning):
        lines.append(f"{meaning}:")
        lines += [f"  {one.key}: {json.dumps(one.left)} -> {json.dumps(one.right)}" for one in group]
    return "\n".join(lines)


def configuration(name: str) -> dict[str, Any]:
    """The flat verl configuration behind `name`; ends the command with a reason when there is none."""
    from orbiter_spec.lower.meaning import flatten

    path = Path(name)
    for candidate in (path / "verl.yaml", path / "compiled" / "verl.yaml"):
        if candidate.is_file():
            return flatten(_yaml(candidate))
    if path.is_file() and _is_verl(path):
        return flatten(_yaml(path))
    from orbiter_spec.compiler import check

    state = check(name)
    if state.config is None:
        print_report(state.report, "text")
        stop(Exit.SPEC)
    return flatten(state.config)


def _is_verl(path: Path) -> bool:
    with path.open("rb") as file:
        return b"actor_rollout_ref:" in file.read(1 << 20)


def _yaml(path: Path) -> Mapping[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        content = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, YAMLError) as error:
        click.echo(f"error: {path} cannot be read: {str(error).splitlines()[0]}", err=True)
        stop(Exit.SPEC)
    if not isinstance(content, Mapping):
        click.echo(f"error: {path} is not a verl configuration", err=True)
        stop(Exit.SPEC)
    return content
