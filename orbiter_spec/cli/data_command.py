"""`orbiter-spec data`: rows built, seen as the model sees them, and counted."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from orbiter_spec.cli.options import set_option
from orbiter_spec.cli.output import Exit, fails, print_report, stop

if TYPE_CHECKING:
    from orbiter_spec.compilation import Compilation
    from orbiter_spec.data.request import BuildResult, DatasetRequest

style_option = click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How it is printed.",
)
workers_option = click.option(
    "--workers", type=click.IntRange(min=1), metavar="N", help="Processes. Left out: as many as pay for their start."
)


@click.group()
def command() -> None:
    """Build the rows of a spec, look at them, count them."""


@command.command("build")
@click.argument("spec")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), help="Folder to copy the rows to.")
@workers_option
@set_option
@style_option
def build_command(spec: str, output: Path | None, workers: int | None, sets: tuple[str, ...], style: str) -> None:
    """Build the rows of SPEC once; compile and run find them built. A build that was stopped goes on."""
    from orbiter_spec.cli.data_view import build_json, build_text

    request = _request(_checked(spec, sets))
    result = _built(request, workers, ask=True)
    if output is not None:
        _copy(result, output)
    click.echo(json.dumps(build_json(result), indent=1) if style == "json" else build_text(result))


@command.command("preview")
@click.argument("spec")
@click.option("-n", "--rows", type=click.IntRange(1, 1000), default=3, show_default=True, help="Rows to show.")
@click.option("--start", type=click.IntRange(min=1), default=1, show_default=True, help="Number of the first one.")
@click.option("--validation", is_flag=True, help="Show validation rows.")
@set_option
@style_option
def preview_command(spec: str, rows: int, start: int, validation: bool, sets: tuple[str, ...], style: str) -> None:
    """Show rows exactly as the model will read them: system prompt, chat template, tools, tokens counted."""
    from orbiter_spec.cli.data_view import preview_json, preview_text
    from orbiter_spec.cli.tools_shown import shown_tools
    from orbiter_spec.data.building import TRAIN, VALIDATION
    from orbiter_spec.data.look import look
    from orbiter_spec.data.tool_schemas import ToolsError
    from orbiter_spec.diagnostics import Report

    state = _checked(spec, sets)
    request = _request(state)
    try:
        tools = shown_tools(state)
        seen = look(request, rows, split=VALIDATION if validation else TRAIN, start=start, tools=tools)
    except (OSError, ToolsError) as error:
        raise click.ClickException(str(error)) from None
    report = Report.of(seen.result.diagnostics)
    print_report(report, "text")
    if fails(report):
        stop(Exit.SPEC)
    click.echo(json.dumps(preview_json(seen), indent=1, ensure_ascii=False) if style == "json" else preview_text(seen))


@command.command("stats")
@click.argument("spec")
@workers_option
@set_option
@style_option
def stats_command(spec: str, workers: int | None, sets: tuple[str, ...], style: str) -> None:
    """Count the rows of SPEC: lengths, what each step dropped and why, what rewards can compare with."""
    from orbiter_spec.cli.data_progress import counting
    from orbiter_spec.cli.data_view import stats_json, stats_text
    from orbiter_spec.data.statistics import count_split
    from orbiter_spec.data.tokenizing import PromptMeter

    state = _checked(spec, sets)
    request = _request(state)
    result = _built(request, workers, ask=False)
    meter = PromptMeter(request.tokenizer) if request.tokenizer is not None else None
    with counting(result.train_rows + result.validation_rows) as advance:
        counted = {file.stem: count_split(file, meter, _limit(state), advance) for file in result.files}
    rewards = state.inputs.rewards if state.inputs is not None else []
    content = stats_json(result, counted, rewards)
    click.echo(json.dumps(content, indent=1, ensure_ascii=False) if style == "json" else stats_text(content))


def _limit(state: Compilation) -> int | None:
    """Tokens that a prompt may have."""
    value = state.plan.get("agent.limits.prompt_tokens") if state.plan is not None else None
    return int(value) if value is not None else None


def _checked(spec: str, sets: tuple[str, ...]) -> Compilation:
    from orbiter_spec.compiler import check

    state = check(spec, sets=sets)
    if fails(state.report):
        print_report(state.report, "text")
        stop(Exit.SPEC)
    return state


def _request(state: Compilation) -> DatasetRequest:
    request = state.rows.request if state.rows is not None else None
    if request is None:
        raise click.UsageError("rows of a prepared dataset are not built; verl reads the files where they are")
    return request


def _built(request: DatasetRequest, workers: int | None, *, ask: bool) -> BuildResult:
    """The build, made where need be; the command ends here when there is none."""
    from orbiter_spec.cli.data_progress import building
    from orbiter_spec.data.cache import cached_build
    from orbiter_spec.diagnostics import Report

    gc.enable()
    try:
        with building(request) as progress:
            result = cached_build(request, workers=workers, offline=not ask, progress=progress)
    except KeyboardInterrupt:
        _interrupted()
    except OSError as error:
        raise click.ClickException(f"rows cannot be built: {error}") from None
    report = Report.of(result.diagnostics)
    print_report(report, "text")
    if fails(report) or not result.files:
        stop(Exit.SPEC)
    return result


def _interrupted() -> NoReturn:
    click.echo("stopped; the same command goes on where it was", err=True)
    stop(Exit.INTERRUPTED)


def _copy(result: BuildResult, output: Path) -> None:
    import shutil

    from orbiter_spec.data.atomic import replacing

    try:
        for file in result.files:
            with replacing(output / file.name) as unfinished:
                shutil.copyfile(file, unfinished)
    except OSError as error:
        raise click.ClickException(f"rows cannot be copied to {output}: {error.strerror or error}") from None
