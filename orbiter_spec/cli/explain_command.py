"""`orbiter-spec explain`: the page of an id, a verl key's value and where it comes from, or the keys a field sets.

With a spec it tells values and places; without one, what a word means.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from orbiter_spec.cli.options import set_option
from orbiter_spec.cli.output import Exit, print_report, stop

if TYPE_CHECKING:
    from orbiter_spec.compilation import Compilation


@click.command()
@click.argument("subject", metavar="ORBnnn|FIELD|KEY|SPEC")
@click.argument("name", required=False, metavar="[KEY|FIELD]")
@set_option
def command(subject: str, name: str | None, sets: tuple[str, ...]) -> None:
    """Explain a finding (ORB201), a field or a verl key; after a SPEC, what the field or the key is there."""
    if name is None:
        click.echo(_without_spec(subject))
        return
    from orbiter_spec.compiler import check

    state = check(subject, sets=sets)
    if state.lowered is None or state.target is None:
        print_report(state.report, "text")
        stop(Exit.SPEC)
    lines = explain_field(state, name) or explain_key(state, name)
    if lines is None:
        close = state.target.nearest(state.lowered.engine, name)
        hint = f"; did you mean {close}?" if close else ""
        click.echo(f"error: {name} is neither a field of the language nor a verl key{hint}", err=True)
        stop(Exit.USAGE)
    click.echo("\n".join(lines))


def _without_spec(subject: str) -> str:
    """The page of a rule or the lines about a word; UsageError when it is neither."""
    from orbiter_spec.cli.explain_word import explain_word, nearest_word

    page = rule_page(subject.upper())
    if page is not None:
        return page
    lines = explain_word(subject)
    if lines is None:
        close = nearest_word(subject)
        hint = f"; did you mean {close}?" if close else "; for a spec, name a field or a key as well"
        raise click.UsageError(f"{subject} is no finding, no field and no verl key{hint}")
    return "\n".join(lines)


def rule_page(rule: str) -> str | None:
    """The page of a rule over the plan or over the configuration, or what another finding means."""
    from orbiter_spec.explanations import explanation
    from orbiter_spec.lower.checks import CHECKS
    from orbiter_spec.rules import RULES, rule_id
    from orbiter_spec.rules.site import SITE_RULES

    for module in (*RULES, *SITE_RULES, *CHECKS):
        if rule_id(module) == rule:
            return f"{rule}: {(module.__doc__ or '').strip()}"
    entry = explanation(rule)
    return f"{rule}: {entry.title}\n\n{entry.body}" if entry else None


def explain_key(state: Compilation, key: str) -> list[str] | None:
    """Value, origin, default and meaning of a verl key."""
    assert state.lowered is not None and state.target is not None
    engine, target = state.lowered.engine, state.target
    if not target.has(engine, key) and key not in state.lowered.settings:
        return None
    value = _composed(state, key)
    lines = [f"{key} = {_shown(value)}", f"  from     {_origin(state, key)}"]
    if target.has(engine, key):
        info = target.describe(engine, key)
        lines.append(f"  default  {_shown(info.default)} in verl {target.version}")
        if info.doc:
            lines.append(f"  meaning  {' '.join(info.doc.split())}")
    return lines


def explain_field(state: Compilation, field: str) -> list[str] | None:
    """What a field means, its value, and the keys it sets."""
    from orbiter_spec.spec.fields import fields

    info = fields().get(field)
    if info is None or state.plan is None or state.lowered is None:
        return None
    lines = [f"{field}: {info.description}"]
    decision = state.plan.decided.get(field)
    if decision is not None:
        lines.append(f"  decided  {_shown(decision.value)} by {decision.by}: {decision.why}")
    elif field in state.plan.given and info.section is None:
        lines.append(f"  given    {_shown(state.plan.given[field])} at {_line(state, field)}")
    keys = [key for key, route in state.lowered.routes.items() if route == field or route.startswith(f"{field}.")]
    lines += [f"  sets     {key} = {_shown(state.lowered.settings[key])}" for key in keys]
    return lines if keys else [*lines, "  sets     no verl key"]


def _composed(state: Compilation, key: str) -> Any:
    from orbiter_spec.lower.compose import compose

    assert state.target is not None and state.lowered is not None
    value: Any = state.config or compose(state.target, state.lowered.engine, state.lowered.settings)
    for part in key.split("."):
        value = value[part] if isinstance(value, dict) else None
    return value


def _origin(state: Compilation, key: str) -> str:
    assert state.plan is not None and state.lowered is not None
    route = state.lowered.routes.get(key)
    if route is None:
        return "verl: nothing in the spec says otherwise"
    decision = state.plan.decided.get(route)
    if decision is not None:
        return f"{route}, decided by {decision.by}: {decision.why}"
    return f"{route} at {_line(state, route)}"


def _line(state: Compilation, route: str) -> str:
    place = state.place(route)
    return f"{place.file}:{place.line}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) < 200 or not sys.stdout.isatty() else text[:197] + "..."
