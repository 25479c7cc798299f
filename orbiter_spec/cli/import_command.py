"""`orbiter-spec import`: a verl launch script, command, override list or YAML becomes a spec."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orbiter_spec.cli.options import format_option
from orbiter_spec.cli.output import Exit, print_report, stop

if TYPE_CHECKING:
    from orbiter_spec.importing import Imported
    from orbiter_spec.lower.target import Target


@click.command()
@click.argument("file")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Spec to write; by default it is printed.")
@click.option("--config-name", metavar="NAME", help="verl configuration where the text names none.")
@click.option("--launch", type=click.IntRange(min=1), metavar="N", help="Which launch of a script with several.")
@click.option("--check", "checked", is_flag=True, help="Compile the spec again and compare it key for key.")
@click.option("--target", "version", default="0.9.1", show_default=True, metavar="VERSION", help="verl release.")
@format_option
def command(
    file: str,
    output: Path | None,
    config_name: str | None,
    launch: int | None,
    checked: bool,
    version: str,
    style: str,
) -> None:
    """Turn a launch script (or - for standard input) into a spec that compiles to the same configuration.

    Nothing in FILE is executed. Variables that it leaves open are taken from the environment, as a shell would.
    """
    from orbiter_spec.cli.import_review import refused, review
    from orbiter_spec.importing import import_text
    from orbiter_spec.lower.target import load_target

    try:
        target = load_target(version)
    except KeyError:
        raise click.UsageError(f"there is no target {version}") from None
    environ = {**os.environ, "PWD": os.getcwd()}
    text = _read(file)
    imported = import_text(text, name=file, config_name=config_name, target=target, environ=environ, launch=launch)
    if imported.spec_text is not None:
        imported.spec_text, warnings = review(imported.spec_text)
        imported.diagnostics = (*imported.diagnostics, *(warnings or refused(imported, text, file, target)))
    print_report(imported.report, style)
    if imported.spec_text is None:
        stop(Exit.SPEC)
    if output is not None and output.exists() and not imported.report.ok:
        click.echo(f"{output} is left as it was; name a new file to have the spec with its errors", err=True)
    elif output is not None:
        _write(output, imported.spec_text)
    elif style == "text" and not checked:
        click.echo(imported.spec_text, nl=False)
    differs = checked and _compare(imported, target)
    if differs or not imported.report.ok:
        stop(Exit.SPEC)


def _read(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise click.UsageError(f"cannot read {file}: {error.strerror or error}") from None
    return data.decode("utf-8", errors="replace")


def _write(output: Path, text: str) -> None:
    from orbiter_spec.data.atomic import replacing

    try:
        with replacing(output) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"cannot write {output}: {error.strerror or error}") from None
    click.echo(f"{output}: {len(text.splitlines())} lines", err=True)


def _compare(imported: Imported, target: Target) -> bool:
    """Print the comparison; True when something differs."""
    from orbiter_spec.importing.check import check_import, comparison
    from orbiter_spec.importing.compare import flatten
    from orbiter_spec.lower.compose import compose

    left = check_import(imported, target)
    defaults = flatten(compose(target, imported.engine, {}))
    for line in comparison(imported, left, defaults):
        click.echo(line)
    return bool(left)
