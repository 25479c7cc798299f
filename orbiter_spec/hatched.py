"""What the rules say about keys that came through the hatch although the language has a word for them.

The planner and the rules do not see `verl.overrides`, so a mistake there would be found on the cluster again. Here each
such key is said by its word in a copy of the experiment, that copy is planned, and what the rules say more than before
is told at the override's own line. It is told as a warning, also what a rule calls an error: the plan that the rules
look at decides other things by the word than the one that is compiled. The copy is thrown away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from orbiter_spec.compilation import Compilation
from orbiter_spec.diagnostics import Diagnostic, Severity

if TYPE_CHECKING:
    from orbiter_spec.plan.model import Plan
    from orbiter_spec.rules.finding import Finding

Words = Mapping[str, tuple[str, Any]]
"""By route: the verl key that was written, and the value its word takes."""
BESIDE: Mapping[str, str] = {"ray_kwargs.ray_init.num_cpus": "hardware.cluster.cpus"}
"""Keys that a word is compared with, although it does not always become them."""


def check_hatched(state: Compilation) -> None:
    """Add what the rules say about hatched words; silent while there are errors, and where a word refuses a value."""
    if state.config is None or state.plan is None or not state.report.ok:
        return
    words = _words(state)
    plan = _plan_with(state, words) if words else None
    if plan is not None:
        state.findings += _told(state, words, plan)


def _words(state: Compilation) -> Words:
    """What each hatched key is in the language, where a word says it."""
    from orbiter_spec.importing.words_back import field_of
    from orbiter_spec.lower.lowering import HATCH
    from orbiter_spec.lower.meaning import flatten

    assert state.lowered is not None and state.config is not None and state.plan is not None
    hatched = [key for key, route in state.lowered.routes.items() if route == HATCH]
    flat = flatten(state.config) if hatched else {}
    found: dict[str, tuple[str, Any]] = {}
    for key in hatched:
        said = {BESIDE[key]: flat[key]} if key in BESIDE else field_of(key, flat, state.lowered.engine)
        for route, value in said.items() if isinstance(said, dict) else ():
            plain = value is not None and "|" not in route and route != "name"
            if plain and state.plan.get(route) != value:
                found[route] = key, value
    return found


def _plan_with(state: Compilation, words: Words) -> Plan | None:
    """The plan of the experiment with `words` in it; None where the language refuses one of them."""
    from pydantic import ValidationError

    from orbiter_spec.plan import Rows, make_plan
    from orbiter_spec.spec.experiment import Experiment

    assert state.experiment is not None and state.inputs is not None
    data = state.experiment.model_dump(exclude_unset=True, by_alias=True)
    if "algorithm.estimator" in words and state.plan is not None:
        _put(data, ["algorithm", "trainer"], "legacy" if state.plan.is_legacy else "v1")
    for route, (_, value) in words.items():
        _put(data, route.split("."), value)
    try:
        experiment = Experiment.model_validate(data)
    except ValidationError:
        return None
    rows = state.rows
    counts = Rows(rows.train_rows, rows.validation_rows) if rows else Rows()
    return make_plan(experiment, counts, {**state.inputs.paths, **(rows.paths if rows else {})}, state.target_version)


def _put(data: dict[str, Any], parts: list[str], value: Any) -> None:
    """Write `value`; a shorthand on the way makes room."""
    for part in parts[:-1]:
        child = data.get(part)
        if not isinstance(child, dict):
            child = data[part] = {}
        data = child
    data[parts[-1]] = value


def _told(state: Compilation, words: Words, plan: Plan) -> Iterator[Diagnostic]:
    """Findings of `plan` about the words that the compiled plan does not have."""
    from orbiter_spec.diagnostics import Place
    from orbiter_spec.rules import RULES, rule_id, title
    from orbiter_spec.rules.finding import to_diagnostic

    assert state.plan is not None and state.lowered is not None
    lowered = state.lowered
    known = {(rule_id(rule), found.route) for rule in RULES for found in rule.check(state.plan)}

    def place_of(route: str) -> Place:
        route = "algorithm.estimator" if route == "algorithm.trainer" and route not in words else route
        return state.place(lowered.route_to(words[route][0]) if route in words else route)

    for rule in RULES:
        for found in rule.check(plan):
            if found.severity is Severity.NOTE or (rule_id(rule), found.route) in known or not _about(found, words):
                continue
            diagnostic = to_diagnostic(found, rule_id(rule), title(rule), place_of)
            yield replace(diagnostic, severity=Severity.WARNING)


def _about(found: Finding, words: Words) -> bool:
    """True when a hatched word takes part in the finding."""
    if found.route == "algorithm.trainer" and "algorithm.estimator" in words:
        return True
    return any(
        route == word or word.startswith(f"{route}.")
        for route in (found.route, *(route for route, _ in found.related))
        for word in words
    )
