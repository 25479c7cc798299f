"""`read`: from a path to a document, every phase of reading in its order."""

from __future__ import annotations

import os
from collections.abc import Mapping as Table
from collections.abc import Sequence as Items
from pathlib import Path

from orbiter_spec.diagnostics import Diagnostic
from orbiter_spec.source.comments import Ignore, find_ignores
from orbiter_spec.source.document import Document
from orbiter_spec.source.environment import fill_environment
from orbiter_spec.source.extends import Loading, load
from orbiter_spec.source.files import open_source
from orbiter_spec.source.merge import Shorthand
from orbiter_spec.source.nodes import Mapping, scalars_of, to_data
from orbiter_spec.source.overrides import Override, apply_override, parse_override
from orbiter_spec.source.routes import Route


def _no_shorthand(_: Route) -> None:
    """Where every scalar is a scalar."""


def read(
    path: str | Path | None,
    *,
    text: str | None = None,
    sets: Items[str] = (),
    environ: Table[str, str] = os.environ,
    shorthand: Shorthand = _no_shorthand,
) -> tuple[Document | None, list[Diagnostic]]:
    """Read the spec at `path`, or on standard input when it is None; `text` stands in for the content when given.

    `sets` are `path=value` arguments, applied in order after `extends`. `shorthand` says at which routes a string
    stands for a mapping, by the key it stands for, so that a mapping can be laid over it. The document is None when
    something makes it unreadable; errors that leave it readable come with it, so that more can be found.
    """
    loading = Loading(environ, shorthand)
    overrides = _parse_overrides(sets, loading)
    source, problems = open_source(None if path is None else Path(path), text)
    loading.found.extend(problems)
    root = None if source is None else load(source, loading)
    if root is None:
        return None, loading.found
    comments = _comments(root, loading)
    root = _apply_overrides(root, overrides, loading)
    loading.found.extend(fill_environment(root, environ))
    files = tuple(dict.fromkeys(source.path for source in loading.sources if source.path is not None))
    return Document(to_data(root), loading.sources[0].path, files, root, comments), loading.found


def _parse_overrides(sets: Items[str], loading: Loading) -> list[Override]:
    overrides: list[Override] = []
    for argument in sets:
        override, found = parse_override(argument)
        loading.found.extend(found)
        if override is not None:
            overrides.append(override)
    return overrides


def _apply_overrides(root: Mapping, overrides: list[Override], loading: Loading) -> Mapping:
    for override in overrides:
        root, problem = apply_override(root, override, loading.shorthand)
        if problem:
            loading.found.append(problem)
    return root


def _comments(root: Mapping, loading: Loading) -> tuple[Ignore, ...]:
    """Ignore comments, looked for only where the word occurs at all; a file that was read twice says them once."""
    ignores: dict[Ignore, None] = {}
    scalars = None
    for source in loading.sources:
        if "orbiter:" in source.text:
            scalars = list(scalars_of(root, keys=True)) if scalars is None else scalars
            fresh, found = find_ignores(source, scalars)
            ignores.update(dict.fromkeys(fresh))
            loading.found.extend(found)
    return tuple(ignores)
