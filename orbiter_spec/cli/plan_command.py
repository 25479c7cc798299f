"""`orbiter-spec plan`: what would run where, on one screen."""

from __future__ import annotations

import json
import shutil

import click

from orbiter_spec.cli.options import set_option, target_option
from orbiter_spec.cli.output import Exit, print_report, stop


@click.command()
@click.argument("spec")
@set_option
@target_option
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(spec: str, sets: tuple[str, ...], target: str | None, style: str) -> None:
    """Show batches, pools, memory and what was decided for you."""
    from orbiter_spec.cli.plan_view import render_plan
    from orbiter_spec.compiler import check
    from orbiter_spec.plan.report import plan_json

    state = check(spec, sets=sets, target=target)
    print_report(state.report, "text")
    if state.plan is None:
        stop(Exit.SPEC)
    content = plan_json(state.plan)
    if style == "json":
        click.echo(json.dumps(content, indent=1, ensure_ascii=False, default=str))
    else:
        click.echo(render_plan(content, width=shutil.get_terminal_size((100, 40)).columns))
    if not state.report.ok:
        stop(Exit.SPEC)
