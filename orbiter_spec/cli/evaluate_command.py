"""`orbiter-spec evaluate`: validation only."""

from __future__ import annotations

import gc
import json
import sys
from typing import TYPE_CHECKING

import click

from orbiter_spec.cli.options import set_option, target_option
from orbiter_spec.cli.output import Exit, print_report, stop

if TYPE_CHECKING:
    from orbiter_spec.evaluation import Evaluation


@click.command()
@click.argument("spec")
@click.option("--checkpoint", metavar="RUN[@STEP]", help="Evaluate trained weights. Left out: the model of the spec.")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
@set_option
@target_option
def command(spec: str, checkpoint: str | None, style: str, sets: tuple[str, ...], target: str | None) -> None:
    """Score the validation rows of SPEC with its rewards, and say how sure each mean is."""
    from orbiter_spec.diagnostics import Report
    from orbiter_spec.evaluation import evaluate
    from orbiter_spec.launch.reporters import make_reporter

    gc.enable()
    found = evaluate(spec, checkpoint=checkpoint, sets=sets, target=target, reporter=make_reporter(sys.stderr))
    print_report(found.report, "text")
    if found.outcome is None:
        stop(Exit.SPEC)
    print_report(Report.of(found.outcome.diagnostics), "text")
    click.echo(_as_json(found) if style == "json" else _as_text(found))
    raise SystemExit(found.outcome.exit_code)


def _as_text(found: Evaluation) -> str:
    from orbiter_spec.report.scores import as_table

    return as_table(found.scores) if found.scores else "no scores: the run folder has no answers of this validation"


def _as_json(found: Evaluation) -> str:
    from orbiter_spec.report.scores import as_json

    assert found.folder is not None and found.outcome is not None
    content = {
        "version": 1,
        "state": found.outcome.state.value,
        "reason": found.outcome.reason,
        "folder": str(found.folder.path),
        "answers": str(found.folder.validation),
        "scores": None if found.scores is None else as_json(found.scores),
    }
    return json.dumps(content, indent=1)
