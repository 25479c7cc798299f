"""From a text to a spec that compiles to the same configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from orbiter_spec.diagnostics import Diagnostic, Place, Report, Severity
from orbiter_spec.importing.candidate import Candidate, RefusedError, fit
from orbiter_spec.importing.choose import first_guess, relative_files
from orbiter_spec.importing.compare import ABSENT, Difference, flatten, roles_off
from orbiter_spec.importing.environment import fill_environment
from orbiter_spec.importing.reading import Text, read_text
from orbiter_spec.importing.settings import Settings, doubts, relative_paths, settle
from orbiter_spec.importing.spec_text import spec_text
from orbiter_spec.lower.compose import REMOVED, ComposeError, compose
from orbiter_spec.lower.target import Target


@dataclass
class Imported:
    """A spec and what there is to say about it.

    `spec_text` is None when nothing could be imported. `original` and `left` are the run's configuration leaf by leaf
    and what the spec does not give (nothing, unless there is a finding about it). `fields` and `hatch` are the spec's
    content; `explicit` counts the overrides that were read, and `lines` says where a key was written.
    """

    spec_text: str | None
    diagnostics: tuple[Diagnostic, ...]
    engine: str = "dp"
    settings: Mapping[str, Any] = field(default_factory=dict)
    original: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    hatch: Mapping[str, Any] = field(default_factory=dict)
    left: tuple[Difference, ...] = ()
    explicit: int = 0
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def report(self) -> Report:
        """The findings, sorted."""
        return Report.of(self.diagnostics)


def import_text(
    text: str,
    *,
    name: str = "-",
    config_name: str | None = None,
    target: Target,
    environ: Mapping[str, str] | None = None,
    launch: int | None = None,
) -> Imported:
    """Import a launch script, a command, overrides one a line, or a YAML of a run. Executes nothing.

    `environ` stands for the environment of the shell (left out: an empty one); `config_name` is taken where the text
    names none; `launch` chooses one of several launches, counted from one.
    """
    source = Text(text, name)
    read = read_text(source, environ or {}, launch)
    if not read.ok:
        return Imported(None, tuple(read.diagnostics))
    settled = settle(read, source, target, config_name)
    found = [*read.diagnostics, *settled.diagnostics]
    if any(problem.id == "ORB660" for problem in found):
        return Imported(None, tuple(found), settled.engine, explicit=settled.count)
    found += fill_environment(settled, environ or {}, source)
    try:
        original = flatten(compose(target, settled.engine, settled.values))
    except ComposeError as problem:
        line = settled.lines.get(problem.key, 1)
        bad = Diagnostic("ORB661", f"{problem.key} has no value", source.place(line), note=problem.message)
        return Imported(None, (*found, bad), settled.engine)
    return _fitted(settled, original, found, source, target)


def _fitted(
    settled: Settings, original: dict[str, Any], found: list[Diagnostic], source: Text, target: Target
) -> Imported:
    candidate = Candidate(settled.engine, original, first_guess(original, settled.engine, target.version))
    candidate.hatch |= relative_files(original)
    try:
        left = fit(candidate, target, explicit_keys(settled, original))
    except RefusedError as refusal:
        found += _refused(refusal, settled, original, source)
        return Imported(None, tuple(found), settled.engine, original=original, explicit=settled.count)
    found += [*doubts(settled, original, source), *relative_paths(settled, source)]
    found += _remaining(left, settled, source)
    text = spec_text(candidate, source.name, settled, roles_off(original), tuple(found))
    return Imported(
        text,
        tuple(found),
        settled.engine,
        settled.values,
        original,
        candidate.fields,
        candidate.hatch,
        tuple(left),
        settled.count,
        settled.lines,
    )


def _refused(
    refusal: RefusedError, settled: Settings, original: Mapping[str, Any], source: Text
) -> Iterator[Diagnostic]:
    for key, reason in refusal.reasons.items():
        said = f"is {original[key]!r}" if original.get(key) is not None else "has no value"
        message = f"{key} {said}: {reason[:1].lower()}{reason[1:]}"
        yield Diagnostic(
            "ORB662",
            message,
            _place(key, settled, source),
            help="verl would refuse it too: correct the value and import again",
        )


def explicit_keys(settled: Settings, original: Mapping[str, Any]) -> set[str]:
    """The leaves that were written, sections opened."""
    written = set(settled.values)
    sections = tuple(f"{key}." for key in written)
    return {key for key in original if key in written or key.startswith(sections)}


def _remaining(left: list[Difference], settled: Settings, source: Text) -> Iterator[Diagnostic]:
    for found in left:
        place = _place(found.key, settled, source)
        if found.original in (ABSENT, REMOVED):
            message, cure = f"{found.key} is taken out, and verl needs it", "leave the deletion out, or write a value"
        else:
            message = f"{found.key} is {found.original!r} in the run and {found.compiled!r} in the spec"
            cure = "no field and no override can say it"
        yield Diagnostic("ORB662", message, place, help=cure, severity=Severity.ERROR)


def _place(key: str, settled: Settings, source: Text) -> Place:
    """Where `key`, or a section that it stands in, was written; the first line when it was not."""
    sections = (key.rsplit(".", depth)[0] for depth in range(key.count(".") + 1))
    name = next((name for name in sections if name in settled.lines), None)
    return source.place(1) if name is None else source.place(settled.lines[name], name)
