"""`orbiter-spec run`: train, here or on a cluster, and see it."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from orbiter_spec.cli.options import set_option, strict_option, target_option
from orbiter_spec.cli.output import Exit, print_report, stop

if TYPE_CHECKING:
    from orbiter_spec.runner import Prepared


@click.command()
@click.argument("spec", metavar="SPEC|RUN")
@click.option("--resume", is_flag=True, help="Go on from the last whole checkpoint of RUN, or of SPEC's latest run.")
@click.option("--detach", is_flag=True, help="Return once the run is on its way; logs -f, status and stop find it.")
@click.option(
    "--render",
    type=click.Choice(("kuberay", "slurm", "skypilot", "shell")),
    help="Print what this launcher would be given, and send nothing.",
)
@set_option
@target_option
@strict_option
def command(
    spec: str,
    resume: bool,
    detach: bool,
    render: str | None,
    sets: tuple[str, ...],
    target: str | None,
    strict: bool,
) -> None:
    """Compile SPEC into a new run folder and train where hardware.cluster says; with --resume, go on with a run.

    A run folder in SPEC's place is run again, from its own compiled files, in a new folder beside it.
    """
    from orbiter_spec.runner import find_run, prepare_run

    if resume:
        prepared = find_run(spec, sets=sets, target=target)
    elif (Path(spec) / "compiled" / "verl.yaml").is_file():
        prepared = again(spec, sets, target)
    else:
        prepared = prepare_run(spec, sets=sets, target=target, strict=strict, look=render is None)
    print_report(prepared.report, "text")
    if prepared.folder is None:
        stop(Exit.SPEC)
    if render is not None:
        show(str(prepared.folder.path), render, resume)
    go(str(prepared.folder.path), resume=resume, detach=detach)


def again(run: str, sets: tuple[str, ...], target: str | None) -> Prepared:
    """A run of the same compiled files as `run`, with what has drifted said first."""
    from orbiter_spec.diagnostics import Report
    from orbiter_spec.runner import Prepared, repeat_run

    if sets or target is not None:
        raise click.UsageError("a run folder is run again as it is; --set and --target are for a spec")
    folder, drifted = repeat_run(run)
    for line in drifted or ["nothing has drifted since"]:
        click.echo(f"{run}: {line}", err=True)
    return Prepared(Report(), folder)


def show(run: str, kind: str, resume: bool) -> NoReturn:
    """Print the file that launcher `kind` would be given for the run folder `run`."""
    from orbiter_spec.diagnostics import Report
    from orbiter_spec.launch.cluster.parcel import ParcelError
    from orbiter_spec.launch.render import RenderError, as_finding, render
    from orbiter_spec.launch.run_folder import RunFolder

    try:
        rendered = render(RunFolder.at(run), kind, resume=resume)
    except (RenderError, ParcelError, ValueError) as error:
        print_report(Report.of([as_finding(error)]), "text")
        stop(Exit.RUN)
    click.echo(rendered.text, nl=False)
    click.echo(f"written to {rendered.path}", err=True)
    stop(Exit.DONE)


def go(run: str, *, resume: bool, detach: bool) -> None:
    """Start the run folder `run`, print what stands in the way, and end with the run's exit code."""
    from orbiter_spec.diagnostics import Report
    from orbiter_spec.launch.reporters import make_reporter
    from orbiter_spec.launch.run_folder import RunFolder
    from orbiter_spec.launch.start import start

    gc.enable()
    outcome = start(RunFolder.at(run), reporter=make_reporter(), resume=resume, detach=detach)
    print_report(Report.of(outcome.diagnostics), "text")
    raise SystemExit(outcome.exit_code)
