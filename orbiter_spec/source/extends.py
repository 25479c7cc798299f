"""`extends: base.yaml` or a list: other files that a spec builds on, the later ones and the spec itself winning.

A path is relative to the file that names it. Every problem with a named file is shown where it is named; problems
inside it are shown inside it. A spec of which one part cannot be read is not read at all: what is missing
would be reported as left out.
"""

from __future__ import annotations

import os
from collections.abc import Mapping as Environment
from dataclasses import dataclass, field, replace
from pathlib import Path

from orbiter_spec.diagnostics import Diagnostic, Related
from orbiter_spec.source.compose import compose
from orbiter_spec.source.environment import fill_environment
from orbiter_spec.source.files import open_source
from orbiter_spec.source.limits import MAX_EXTENDS, MAX_FILES
from orbiter_spec.source.merge import Shorthand, merge
from orbiter_spec.source.nodes import Mapping, Node, Scalar, Sequence, kind
from orbiter_spec.source.text import Source

KEY = "extends"


@dataclass
class Loading:
    """One spec being read: what every file of it adds to."""

    environ: Environment[str, str]
    shorthand: Shorthand
    sources: list[Source] = field(default_factory=list)
    found: list[Diagnostic] = field(default_factory=list)


def load(source: Source, loading: Loading, chain: tuple[Source, ...] = ()) -> Mapping | None:
    """The tree of `source` laid over what it extends, or None when a part of it cannot be read."""
    loading.sources.append(source)
    root, found = compose(source)
    loading.found.extend(found)
    if not isinstance(root, Mapping):
        if root is not None or not found:
            loading.found.append(_not_a_mapping(source, root))
        return None
    entry = root.entries.pop(KEY, None)
    if entry is None:
        return root
    return _lay_over(root, entry.value, loading, (*chain, source))


def _lay_over(root: Mapping, value: Node, loading: Loading, chain: tuple[Source, ...]) -> Mapping | None:
    loading.found.extend(fill_environment(value, loading.environ))
    names = _names(value, loading)
    if names is None:
        return None
    bases = [_load_base(name, loading, chain) for name in names]
    merged: Mapping | None = None
    for base in bases:
        if base is None:
            return None
        merged = base if merged is None else merge(merged, base, loading.shorthand)
    return root if merged is None else merge(merged, root, loading.shorthand)


def _names(value: Node, loading: Loading) -> list[Scalar] | None:
    """The scalars that name files; None when something else stands there, or one has been reported."""
    if isinstance(value, Scalar) and value.value is None:
        return []
    items = value.items if isinstance(value, Sequence) else [value]
    names: list[Scalar] = []
    for item in items:
        if isinstance(item, Scalar) and isinstance(item.value, str) and item.value:
            names.append(item)
            continue
        message = f"extends takes the path of a file, and this is {kind(item)}"
        loading.found.append(Diagnostic("ORB021", message, item.place(), help="write extends: base.yaml"))
    return names if len(names) == len(items) and not any(name.faulty for name in names) else None


def _load_base(name: Scalar, loading: Loading, chain: tuple[Source, ...]) -> Mapping | None:
    path = Path(os.path.normpath(chain[-1].folder / str(name.value)))
    refused = _refusal(name, path, loading, chain)
    if refused:
        loading.found.append(refused)
        return None
    source, found = open_source(path)
    loading.found.extend(_at_extends(problem, name) for problem in found)
    return None if source is None else load(source, loading, chain)


def _refusal(name: Scalar, path: Path, loading: Loading, chain: tuple[Source, ...]) -> Diagnostic | None:
    cycle = [source.path for source in chain if source.path is not None and _same(source.path, path)]
    if cycle:
        shown = " -> ".join([*(source.name for source in chain), str(path)])
        return Diagnostic(
            "ORB010", "extends leads back to a file that is being read", name.place(), shown, "break the cycle"
        )
    if len(chain) >= MAX_EXTENDS:
        message = f"files extend each other more than {MAX_EXTENDS} deep"
        return Diagnostic("ORB010", message, name.place(), help="extend fewer files")
    if len(loading.sources) >= MAX_FILES:
        message = f"spec extends more than {MAX_FILES} files"
        return Diagnostic("ORB010", message, name.place(), help="extend fewer files")
    return None


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def _at_extends(problem: Diagnostic, name: Scalar) -> Diagnostic:
    """A file that cannot be opened is a mistake where it is named; a bad one is shown itself, with its namer."""
    if problem.id in ("ORB001", "ORB002") and problem.place is not None:
        message = f"extended {problem.message}: {problem.place.file}"
        return Diagnostic("ORB010", message, name.place(), help=problem.help)
    return replace(problem, related=(*problem.related, Related(name.place(), "extended from here")))


def _not_a_mapping(source: Source, root: Node | None) -> Diagnostic:
    cure = "write `key: value` lines"
    if root is None or (isinstance(root, Scalar) and root.value is None and root.plain):
        place = root.place() if isinstance(root, Scalar) and root.end > root.start else source.place(0, 1)
        return Diagnostic("ORB009", "file is empty", place, help=cure)
    return Diagnostic("ORB009", f"a spec is a mapping, and this is {kind(root)}", root.place(), help=cure)
