"""`orbiter-spec compile`: the files verl runs from."""

from __future__ import annotations

from pathlib import Path

import click

from orbiter_spec.cli.options import set_option, strict_option, target_option
from orbiter_spec.cli.output import FORMATS, Exit, fails, print_report, stop

PRINTED = ("yaml", "overrides", "shell")
"""Formats that print the configuration and write nothing."""


@click.command()
@click.argument("spec")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder to write; by default compiled/NAME.")
@set_option
@target_option
@click.option(
    "--format",
    "style",
    type=click.Choice([*FORMATS, *PRINTED]),
    default="text",
    show_default=True,
    help="How findings are printed; yaml, overrides and shell print the configuration instead and write nothing.",
)
@strict_option
def command(
    spec: str, output: Path | None, sets: tuple[str, ...], target: str | None, style: str, strict: bool
) -> None:
    """Write verl.yaml, overrides.txt, pools, plan and origins, and what a run needs beside them."""
    if style in PRINTED:
        print_configuration(spec, style, sets, target, strict)
        return
    from orbiter_spec.compiler import compile_spec

    compiled = compile_spec(spec, output, sets=sets, target=target, strict=strict)
    print_report(compiled.report, style)
    if compiled.folder is None or fails(compiled.report, strict):
        stop(Exit.SPEC)
    if style == "text":
        click.echo(f"{compiled.folder}: {', '.join(compiled.files)}")


def print_configuration(spec: str, style: str, sets: tuple[str, ...], target: str | None, strict: bool) -> None:
    """Print verl's configuration for people's own scripts; paths in it are relative to a compiled folder."""
    import shlex

    from orbiter_spec.compiler import check
    from orbiter_spec.lower.files import config_files

    state = check(spec, sets=sets, target=target, rows="build")
    print_report(state.report, "text")
    if fails(state.report, strict) or state.target is None or state.lowered is None or state.config is None:
        stop(Exit.SPEC)
    files = config_files(state.target, state.lowered, state.config)
    if style == "yaml":
        click.echo(files["verl.yaml"], nl=False)
    elif style == "overrides":
        click.echo(files["overrides.txt"], nl=False)
    else:
        words = (shlex.quote(line) for line in files["overrides.txt"].splitlines())
        click.echo(" \\\n  ".join(["python -m verl.trainer.main_ppo", *words]))
