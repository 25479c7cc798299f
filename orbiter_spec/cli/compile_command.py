"""`orbiter-spec compile`: the files verl runs from."""

from __future__ import annotations

from pathlib import Path

import click

from orbiter_spec.cli.options import format_option, set_option, strict_option, target_option
from orbiter_spec.cli.output import Exit, fails, print_report, stop


@click.command()
@click.argument("spec")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder to write; by default compiled/NAME.")
@set_option
@target_option
@format_option
@strict_option
def command(
    spec: str, output: Path | None, sets: tuple[str, ...], target: str | None, style: str, strict: bool
) -> None:
    """Write verl.yaml, overrides.txt, pools, plan and origins, and what a run needs beside them."""
    from orbiter_spec.compiler import compile_spec

    compiled = compile_spec(spec, output, sets=sets, target=target, strict=strict)
    print_report(compiled.report, style)
    if compiled.folder is None or fails(compiled.report, strict):
        stop(Exit.SPEC)
    if style == "text":
        click.echo(f"{compiled.folder}: {', '.join(compiled.files)}")
