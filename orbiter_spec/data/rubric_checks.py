"""What a judge's rubric shows: the answer that is to be graded, and only what there is.

The rubric is parsed as the run will parse it and never filled here, for a template can take as long as it likes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from orbiter_spec.diagnostics import Diagnostic, nearest
from orbiter_spec.source import Document, Route
from orbiter_spec.spec.builtin_rewards import CONTEXT_NAMES

if TYPE_CHECKING:
    from jinja2 import nodes

ANSWER = frozenset({"response", "output", "solution_str"})
FILLED = frozenset({*CONTEXT_NAMES, "low", "high", "labels"})
"""Names that are filled for each sample beside the row's own fields."""
ASKS_FIRST = ("defined", "undefined")


def check_rubric(rubric: str, route: Route, document: Document) -> Iterator[Diagnostic]:
    """Is it a template, and does it show the answer?"""
    from jinja2 import TemplateSyntaxError, meta

    try:
        names = meta.find_undeclared_variables(_parsed(rubric))
    except TemplateSyntaxError as error:
        note = f"line {error.lineno}: {error.message}"
        yield Diagnostic("ORB485", "the rubric is not a Jinja2 template", document.place(route), note=note)
        return
    if not names & ANSWER:
        yield Diagnostic(
            "ORB485",
            "the rubric does not show the answer that is to be graded",
            document.place(route),
            note=f"it shows {', '.join(sorted(names)) or 'nothing of the sample'}",
            help="write {{ response }} where the answer goes",
        )


def check_rubric_columns(rubric: str, columns: set[str], route: Route, document: Document) -> Iterator[Diagnostic]:
    """Names in a rubric that rows do not have; those that it asks about first, by `is defined`, may be missing."""
    from jinja2 import TemplateSyntaxError, meta

    try:
        tree = _parsed(rubric)
        names = meta.find_undeclared_variables(tree)
    except TemplateSyntaxError:
        return
    for name in sorted(names - FILLED - columns - _asked_about(tree)):
        close = nearest(name, columns | FILLED)
        yield Diagnostic(
            "ORB497",
            f"rows have no {name!r}, which the rubric shows",
            document.place(route),
            note=f"did you mean {close!r}?" if close else f"they have {', '.join(sorted(columns))}",
            help="name a column, response, expected or prompt",
        )


def _parsed(rubric: str) -> nodes.Template:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment().parse(rubric)


def _asked_about(tree: nodes.Template) -> set[str]:
    from jinja2 import nodes

    tests = [node.node for node in tree.find_all(nodes.Test) if node.name in ASKS_FIRST]
    defaults = [node.node for node in tree.find_all(nodes.Filter) if node.name in ("default", "d")]
    return {node.name for node in (*tests, *defaults) if isinstance(node, nodes.Name)}
