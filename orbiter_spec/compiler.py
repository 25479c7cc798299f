"""The order of the phases.

    read -> bind -> find inputs -> rows -> plan -> rules -> lower -> compose and check -> rules on overrides

Each phase takes what the ones before it made, adds its own result and its findings, and runs as soon as it can: a spec
with a missing reward file and too few rows hears of both. `check` stops there; `compile_spec` goes on to write.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orbiter_spec.compilation import Compilation, apply_ignores
from orbiter_spec.diagnostics import Diagnostic, Place, Report, Severity
from orbiter_spec.source import Document, read
from orbiter_spec.spec import bind

if TYPE_CHECKING:
    from orbiter_spec.data.rows import Rows


def read_document(state: Compilation) -> None:
    """Text to document."""
    from orbiter_spec.spec.fields import shorthand

    path = None if state.spec == "-" else state.spec
    state.document, problems = read(path, sets=state.sets, shorthand=shorthand)
    state.findings += problems


def bind_experiment(state: Compilation) -> None:
    """Document to experiment."""
    if state.document is not None:
        state.experiment, problems = bind(state.document)
        state.findings += without_faults(problems, state.document)


def without_faults(problems: list[Diagnostic], document: Document) -> list[Diagnostic]:
    """`problems` less those about a value that reading has already reported and stood something harmless in for."""
    places = {document.place(route) for route in document.faults()}
    return [found for found in problems if found.place not in places]


def find_inputs(state: Compilation) -> None:
    """Models, reward functions and tool files."""
    if state.experiment is not None and state.document is not None:
        from orbiter_spec.data.agent_parts import find_agent
        from orbiter_spec.data.inputs import find_inputs
        from orbiter_spec.data.reward_parts import find_rewards

        state.inputs, problems = find_inputs(state.experiment, state.document)
        state.findings += [
            *problems,
            *find_rewards(state.experiment, state.document, state.inputs),
            *find_agent(state.experiment, state.document, state.inputs),
        ]


def check_rows(state: Compilation) -> None:
    """Rows: are they there, do they have the columns, how many are they."""
    if state.experiment is not None and state.document is not None and state.inputs is not None:
        from orbiter_spec.data.rows import plan_rows

        state.rows, problems = plan_rows(
            state.experiment,
            state.document,
            needs_expected=state.inputs.needs_expected,
            expected_sources=state.inputs.expected_sources,
            read_columns=state.inputs.read_columns,
            rows=state.building if state.report.ok else "look",
        )
        state.findings += problems
        if state.rows is not None:
            from orbiter_spec.data.reward_checks import check_columns
            from orbiter_spec.data.reward_sources import check_sources

            state.findings += check_columns(state.experiment, state.document, state.rows)
            state.findings += check_sources(state.experiment, state.document, state.rows)


def make_plan(state: Compilation) -> None:
    """Decide what is left open."""
    if state.experiment is None or state.inputs is None:
        return
    from orbiter_spec.plan import Rows, make_plan

    rows = state.rows
    counts = Rows(rows.train_rows, rows.validation_rows) if rows else Rows()
    paths = {**state.inputs.paths, **(rows.paths if rows else {})}
    state.plan = make_plan(state.experiment, counts, paths, state.target_version)


def run_rules(state: Compilation) -> None:
    """Preflight rules over the plan."""
    if state.plan is not None:
        from orbiter_spec.plan.hatch import written_at
        from orbiter_spec.rules import run_rules

        plan = state.plan
        state.findings += run_rules(plan, lambda route: state.place(written_at(plan, route)))


def lower_plan(state: Compilation) -> None:
    """Plan to verl keys, checked against the target's catalogue."""
    if state.plan is None:
        return
    from orbiter_spec.lower.hatch import check_hatch
    from orbiter_spec.lower.lowering import lower
    from orbiter_spec.lower.target import TARGET_VERSIONS, load_target

    version = state.plan.release
    if version not in TARGET_VERSIONS:
        known = ", ".join(TARGET_VERSIONS)
        place = Place("--target", text=version, width=len(version))
        state.findings.append(Diagnostic("ORB603", f"there is no target {version}", place, help=f"use one of: {known}"))
        return
    state.target = load_target(version)
    state.lowered = lower(state.plan, state.target)
    state.findings += check_hatch(state.plan, state.target, state.lowered, state.place)


def check_config(state: Compilation) -> None:
    """Compose verl's configuration and check what the language has no word for; silent while there are errors."""
    if state.target is None or state.lowered is None or not state.report.ok:
        return
    from orbiter_spec.lower.checks import run_checks
    from orbiter_spec.lower.meaning import flatten
    from orbiter_spec.lower.sayable import compose_checked

    lowered = state.lowered
    state.config, problems = compose_checked(state.target, lowered, state.place)
    state.findings += problems
    if state.config is None:
        return

    def place_of(key: str) -> Place | None:
        return state.place(lowered.route_to(key)) if key in lowered.routes else None

    state.findings += run_checks(flatten(state.config), place_of)


def check_hatched(state: Compilation) -> None:
    """What the rules say about words of the language that were written as overrides."""
    if state.plan is not None and state.plan.get("verl.overrides"):
        from orbiter_spec.hatched import check_hatched

        check_hatched(state)


PHASES: tuple[Callable[[Compilation], None], ...] = (
    read_document,
    bind_experiment,
    find_inputs,
    check_rows,
    make_plan,
    run_rules,
    lower_plan,
    check_config,
    check_hatched,
)


def check(
    spec: str | os.PathLike[str], *, sets: Sequence[str] = (), target: str | None = None, rows: Rows = "look"
) -> Compilation:
    """Run every phase on `spec` (`-` reads standard input) and write nothing.

    `rows` says whether rows of a pipeline are only looked at, built in the cache, or built with a teacher's help.
    """
    state = Compilation(os.fspath(spec), tuple(sets), target, building=rows)
    for phase in PHASES:
        phase(state)
    state.findings = apply_ignores(state)
    return state


@dataclass
class CompiledFolder:
    """The outcome of `compile_spec`: where the files are, or why there are none."""

    report: Report
    folder: Path | None = None
    files: tuple[str, ...] = ()
    compilation: Compilation | None = None


def compile_spec(
    spec: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    sets: Sequence[str] = (),
    target: str | None = None,
    strict: bool = False,
) -> CompiledFolder:
    """Check `spec` and write its compiled folder; nothing is written when there is an error.

    With `strict`, warnings count as errors. `output` defaults to `compiled/NAME` in the current folder.
    """
    from orbiter_spec.launch.write import refuse_folder

    state = check(spec, sets=sets, target=target, rows="build")
    folder = Path(output) if output is not None else Path("compiled", state.experiment.name if state.experiment else "")
    refused = refuse_folder(folder) if output is not None or state.experiment else None
    if refused is not None:
        state.findings.append(refused)
    report = state.report
    if not report.ok or (strict and report.count(Severity.WARNING)):
        return CompiledFolder(report, compilation=state)
    return write_compiled(state, folder)


def write_compiled(state: Compilation, folder: Path, *, ask: bool = False) -> CompiledFolder:
    """Write a checked compilation to `folder`, all or nothing; with `ask`, a teacher may be asked for rows."""
    from orbiter_spec.assemble import assemble
    from orbiter_spec.launch.write import staged

    try:
        with staged(folder) as stage:
            files, problems = assemble(state, stage, ask=ask)
            if any(found.severity is Severity.ERROR for found in problems):
                raise _RefusedError(problems)
    except _RefusedError as refused:
        state.findings += refused.problems
        return CompiledFolder(state.report, compilation=state)
    except OSError as error:
        state.findings.append(
            Diagnostic("ORB501", f"cannot write {folder}: {error.strerror or error}", Place(str(folder)))
        )
        return CompiledFolder(state.report, compilation=state)
    state.findings += problems
    return CompiledFolder(state.report, folder, files, state)


class _RefusedError(Exception):
    """Rows turned out to be broken while they were written; the stage is thrown away."""

    def __init__(self, problems: list[Diagnostic]) -> None:
        self.problems = problems
