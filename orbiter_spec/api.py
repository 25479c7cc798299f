"""The library behind the commands: `load`, `validate`, `plan`, `compile`, `run`."""

from __future__ import annotations

import os
from collections.abc import Sequence

from orbiter_spec.compilation import Compilation, SpecError
from orbiter_spec.compiler import CompiledFolder, check, compile_spec
from orbiter_spec.diagnostics import Report
from orbiter_spec.plan.model import Plan
from orbiter_spec.spec.experiment import Experiment

__all__ = ["SpecError", "compile", "load", "plan", "run", "validate"]

PathLike = str | os.PathLike[str]


def _checked(spec: PathLike, sets: Sequence[str]) -> Compilation:
    state = check(spec, sets=sets)
    if not state.report.ok:
        raise SpecError(state.report)
    return state


def load(spec: PathLike, sets: Sequence[str] = ()) -> Experiment:
    """The experiment in `spec`. Raises SpecError when it has errors."""
    experiment = _checked(spec, sets).experiment
    assert experiment is not None
    return experiment


def validate(spec: PathLike, sets: Sequence[str] = ()) -> Report:
    """Every finding about `spec`."""
    return check(spec, sets=sets).report


def plan(spec: PathLike, sets: Sequence[str] = ()) -> Plan:
    """The plan of `spec`. Raises SpecError when it has errors."""
    made = _checked(spec, sets).plan
    assert made is not None
    return made


def compile(spec: PathLike, output: PathLike, sets: Sequence[str] = ()) -> CompiledFolder:
    """Write the compiled folder of `spec`. Raises SpecError when it has errors."""
    compiled = compile_spec(spec, output, sets=sets)
    if compiled.folder is None:
        raise SpecError(compiled.report)
    return compiled


def run(spec: PathLike, sets: Sequence[str] = ()) -> int:
    """Run `spec` here and wait; returns the exit code of `orbiter-spec run`. Raises SpecError when it has errors."""
    from orbiter_spec.runner import start_run

    return start_run(spec, sets=sets).exit_code
