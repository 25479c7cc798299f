"""`orbiter-spec validate`: every mistake that can be known before anything starts."""

from __future__ import annotations

import click

from orbiter_spec.cli.options import format_option, set_option, strict_option, target_option
from orbiter_spec.cli.output import Exit, fails, print_report, stop


@click.command()
@click.argument("specs", nargs=-1, required=True, metavar="SPEC...")
@set_option
@target_option
@format_option
@strict_option
@click.option("--site", is_flag=True, help="Also ask the machines: every node of the Ray cluster, or this one.")
@click.option("--site-seconds", type=click.FloatRange(min=1), default=60, show_default=True, help="Limit of --site.")
def command(
    specs: tuple[str, ...],
    sets: tuple[str, ...],
    target: str | None,
    style: str,
    strict: bool,
    site: bool,
    site_seconds: float,
) -> None:
    """Check one or more specs; - reads standard input.

    The cluster of --site is hardware.cluster.address, or RAY_ADDRESS.
    """
    from orbiter_spec.compiler import check
    from orbiter_spec.diagnostics import Report

    checks = [check(spec, sets=sets, target=target) for spec in specs]
    for checked in checks if site else ():
        from orbiter_spec.preflight import add_site_findings

        add_site_findings(checked, limit_seconds=site_seconds)
    report = Report.of(found for checked in checks for found in checked.report)
    print_report(report, style)
    if fails(report, strict):
        stop(Exit.SPEC)
    if style == "text":
        for spec, checked in zip(specs, checks, strict=True):
            click.echo(f"{spec}: valid{checked.summary}")
