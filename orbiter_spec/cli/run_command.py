"""`orbiter-spec run`: train here, and see it."""

from __future__ import annotations

import gc

import click

from orbiter_spec.cli.options import set_option, strict_option, target_option
from orbiter_spec.cli.output import Exit, print_report, stop


@click.command()
@click.argument("spec", metavar="SPEC|RUN")
@click.option("--resume", is_flag=True, help="Go on from the last whole checkpoint of RUN, or of SPEC's latest run.")
@set_option
@target_option
@strict_option
def command(spec: str, resume: bool, sets: tuple[str, ...], target: str | None, strict: bool) -> None:
    """Compile SPEC into a new run folder and train on this machine; with --resume, go on with a run."""
    from orbiter_spec.diagnostics import Report
    from orbiter_spec.launch.local import run_local
    from orbiter_spec.launch.progress import make_reporter
    from orbiter_spec.runner import find_run, prepare_run

    if resume:
        prepared = find_run(spec, sets=sets, target=target)
    else:
        prepared = prepare_run(spec, sets=sets, target=target, strict=strict)
    print_report(prepared.report, "text")
    if prepared.folder is None:
        stop(Exit.SPEC)
    gc.enable()
    outcome = run_local(prepared.folder, reporter=make_reporter(), resume=resume)
    print_report(Report.of(outcome.diagnostics), "text")
    raise SystemExit(outcome.exit_code)
