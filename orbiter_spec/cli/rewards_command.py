"""`orbiter-spec rewards`: the declared rewards on answers whose worth is known, without a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orbiter_spec.cli.options import set_option, target_option
from orbiter_spec.cli.output import Exit, fails, print_report, stop

if TYPE_CHECKING:
    from orbiter_spec.compilation import Compilation
    from orbiter_spec.trial.findings import Row

SCORE_COLUMNS = {"gold": "right", "empty": "empty", "repeated": "repeated", "truncated": "half", "shuffled": "other's"}


@click.group()
def command() -> None:
    """Try the rewards of a spec."""


@command.command("test")
@click.argument("spec", metavar="SPEC")
@click.option("--rows", default=32, show_default=True, type=click.IntRange(1, 100_000), help="Rows to make answers of.")
@click.option("--gold", metavar="TEMPLATE", help="How a right response looks, as Jinja2 over the row and expected.")
@click.option(
    "--rollouts",
    metavar="RUN",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Also score the answers that a run recorded.",
)
@click.option("--without", multiple=True, metavar="NAME", help="Leave a part out; may be repeated.")
@click.option("--slow", default=1.0, show_default=True, type=float, help="Seconds a call may take.")
@click.option(
    "--format", "style", type=click.Choice(("text", "json")), default="text", show_default=True, help="Output."
)
@set_option
@target_option
def test(
    spec: str,
    rows: int,
    gold: str | None,
    rollouts: Path | None,
    without: tuple[str, ...],
    slow: float,
    style: str,
    sets: tuple[str, ...],
    target: str | None,
) -> None:
    """Score right, empty, repeated, halved and swapped answers with the rewards of SPEC, and look for faults.

    Users' functions are run, in a process of their own. Parts that need a running model are named and left out.
    """
    from orbiter_spec.compiler import check
    from orbiter_spec.trial.report import try_rewards

    state = check(spec, sets=sets, target=target)
    if fails(state.report) or state.inputs is None:
        print_report(state.report, "text")
        stop(Exit.SPEC)
    unknown = sorted({*without} - {item["name"] for item in state.inputs.rewards})
    if unknown:
        raise click.UsageError(f"there is no reward {unknown[0]!r} to leave out")
    tried = try_rewards(
        state, rows=rows, gold=gold, run=rollouts, without=without, slow=slow, progress=_progress(style)
    )
    _show(tried, style, state)
    if fails(tried.report):
        stop(Exit.SPEC)


def _progress(style: str) -> Any:
    import sys

    def show(done: int, total: int) -> None:
        if style == "text" and sys.stderr.isatty():
            click.echo(f"\rscored {done} of {total} answers", nl=done == total, err=True)

    return show


def _show(tried: Any, style: str, state: Compilation) -> None:
    if style == "json":
        import json

        click.echo(json.dumps(tried.as_json(), indent=1))
        return
    if tried.table:
        click.echo(_table(tried.table))
    for name, why in tried.left_out.items():
        click.echo(f"{name}: not tried, {why}")
    print_report(tried.report, "text")
    if tried.report.ok and tried.table:
        what = "error" if any(tried.report) else "fault"
        click.echo(f"{tried.answers} answers of {tried.rows} rows scored, no {what} found")


def _table(rows: list[Row]) -> str:
    columns = [kind for kind in (*SCORE_COLUMNS, "rollouts") if any(kind in row.means for row in rows)]
    head = ["reward", *(SCORE_COLUMNS.get(kind, kind) for kind in columns), "lowest", "highest", "ms/call", "failed"]
    lines = [head]
    for row in rows:
        means = [f"{row.means[kind]:.3f}" if kind in row.means else "-" for kind in columns]
        numbers = [f"{row.low:.3f}", f"{row.high:.3f}", f"{1000 * row.seconds:.2f}"]
        lines.append([row.name, *means, *numbers, f"{row.failures}/{row.calls}" if row.calls else "-"])
    widths = [max(len(line[index]) for line in lines) for index in range(len(head))]
    shown = (
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
    return "\n".join(line.rstrip() for line in shown)
