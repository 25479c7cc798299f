"""`orbiter-spec rehearse`: the spec shrunk to this machine, and really run."""

from __future__ import annotations

import gc
import sys

import click

from orbiter_spec.cli.options import set_option
from orbiter_spec.cli.output import Exit, print_report


@click.command()
@click.argument("spec")
@click.option("--steps", default=2, show_default=True, type=click.IntRange(1, 100), help="Training steps.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 8), help="Training processes.")
@click.option("--no-run", is_flag=True, help="Only probe: tokens, environment, tools, rewards. No training.")
@click.option(
    "--gold",
    metavar="TEMPLATE",
    help="How a right answer looks, where it is more than the expected one: Jinja2 over the row.",
)
@click.option(
    "--ask-services",
    is_flag=True,
    help="Ask the judges, teachers and sandboxes that SPEC names. Left out: a stand-in on this machine answers.",
)
@click.option("--format", "style", type=click.Choice(("text", "json")), default="text", help="How to print the result.")
@set_option
def command(
    spec: str,
    steps: int,
    workers: int,
    no_run: bool,
    ask_services: bool,
    gold: str | None,
    style: str,
    sets: tuple[str, ...],
) -> None:
    """Shrink SPEC to this machine and run it through real verl, to prove its wiring before GPUs are booked.

    The model keeps its family, tokenizer and chat template, with two layers of random weights; rows, rewards, tools,
    environment, algorithm and loss are the spec's own.
    """
    from orbiter_spec.cli.rehearse_view import as_json, as_text
    from orbiter_spec.launch.reporters import make_reporter
    from orbiter_spec.launch.status import State
    from orbiter_spec.rehearse.rehearsal import rehearse

    gc.enable()
    reporter = None if no_run else make_reporter(sys.stderr if style == "json" else sys.stdout)
    done = rehearse(
        spec,
        sets=sets,
        steps=steps,
        workers=workers,
        run=not no_run,
        ask_services=ask_services,
        gold=gold,
        reporter=reporter,
    )
    print_report(done.report, "text")
    click.echo(as_json(done) if style == "json" else as_text(done), nl=False)
    if done.state is State.INTERRUPTED:
        raise SystemExit(int(Exit.INTERRUPTED))
    if done.state is State.FAILED:
        raise SystemExit(int(Exit.RUN))
    raise SystemExit(int(Exit.DONE if done.passed else Exit.SPEC))
