"""`import --check`: the spec's text, read again and compiled, against the run it came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.importing.candidate import paths_of
from orbiter_spec.importing.compare import Difference, differences, flatten, roles_off
from orbiter_spec.importing.imported import Imported
from orbiter_spec.lower.compose import compose
from orbiter_spec.lower.lowering import lower
from orbiter_spec.lower.target import Target
from orbiter_spec.plan import make_plan
from orbiter_spec.source import read
from orbiter_spec.spec import bind


def compiled_text(text: str, target: Target) -> dict[str, Any]:
    """What a spec's text compiles to, leaf by leaf; files stay where they are. ValueError when it is no valid spec."""
    document, problems = read(None, text=text, environ={})
    experiment = None
    if document is not None and not problems:
        experiment, problems = bind(document)
    if experiment is None:
        raise ValueError("; ".join(problem.message for problem in problems))
    lowered = lower(make_plan(experiment, paths=paths_of(experiment), release=target.version), target)
    return flatten(compose(target, lowered.engine, lowered.settings))


def check_import(imported: Imported, target: Target) -> list[Difference]:
    """Every key in which the written spec and the original differ."""
    if imported.spec_text is None:
        return []
    return differences(imported.original, compiled_text(imported.spec_text, target))


def comparison(imported: Imported, left: list[Difference], defaults: Mapping[str, Any]) -> Iterator[str]:
    """The comparison as lines: what differs key for key, then the counts."""
    for found in left:
        yield f"{found.key}: {found.original!r} in the run, {found.compiled!r} compiled"
    off = roles_off(imported.original)
    counted = [key for key in imported.original if not key.startswith(tuple(off))]
    changed = [key for key in counted if imported.original[key] != defaults.get(key)]
    hatched = [key for key in changed if key in imported.hatch]
    for prefix, role in off.items():
        yield f"not compared: {prefix}* ({role}, which this run does not have)"
    yield (
        f"{len(counted)} keys compared, {len(left)} differ; {len(changed)} are not verl's defaults, "
        f"{len(changed) - len(hatched)} of them said by fields and {len(hatched)} by verl.overrides"
    )
