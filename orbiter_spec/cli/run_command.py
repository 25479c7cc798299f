"""`orbiter-spec run`: train, here or on a cluster, and see it."""

from __future__ import annotations

import gc

import click

from orbiter_spec.cli.options import set_option, strict_option, target_option
from orbiter_spec.cli.output import Exit, print_report, stop


@click.command()
@click.argument("spec", metavar="SPEC|RUN")
@click.option("--resume", is_flag=True, help="Go on from the last whole checkpoint of RUN, or of SPEC's latest run.")
@click.option("--detach", is_flag=True, help="Return once the run is on its way; logs -f, status and stop find it.")
@set_option
@target_option
@strict_option
def command(spec: str, resume: bool, detach: bool, sets: tuple[str, ...], target: str | None, strict: bool) -> None:
    """Compile SPEC into a new run folder and train where hardware.cluster says; with --resume, go on with a run."""
    from orbiter_spec.runner import find_run, prepare_run

    if resume:
        prepared = find_run(spec, sets=sets, target=target)
    else:
        prepared = prepare_run(spec, sets=sets, target=target, strict=strict)
    print_report(prepared.report, "text")
    if prepared.folder is None:
        stop(Exit.SPEC)
    go(str(prepared.folder.path), resume=resume, detach=detach)


def go(run: str, *, resume: bool, detach: bool) -> None:
    """Start the run folder `run`, print what stands in the way, and end with the run's exit code."""
    from orbiter_spec.diagnostics import Report
    from orbiter_spec.launch.progress import make_reporter
    from orbiter_spec.launch.run_folder import RunFolder
    from orbiter_spec.launch.start import start

    gc.enable()
    outcome = start(RunFolder.at(run), reporter=make_reporter(), resume=resume, detach=detach)
    print_report(Report.of(outcome.diagnostics), "text")
    raise SystemExit(outcome.exit_code)
