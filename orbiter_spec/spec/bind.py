"""From a document of the right shape to an `Experiment`.

The schema has already said what is wrong with keys and types; what is left to pydantic are the conditions a schema
cannot say, such as one of two fields. Errors of both are reported, each once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from orbiter_spec.diagnostics import Diagnostic
from orbiter_spec.source import Document, Route, format_route
from orbiter_spec.spec.shape import check_shape

if TYPE_CHECKING:
    from orbiter_spec.spec.experiment import Experiment


def bind(document: Document) -> tuple[Experiment | None, list[Diagnostic]]:
    """The experiment that `document` describes, or None and every reason why it is none."""
    from orbiter_spec.spec.experiment import Experiment

    problems = check_shape(document)
    if problems:
        return None, problems
    try:
        return Experiment.model_validate(document.data), []
    except ValidationError as error:
        return None, [_diagnostic(dict(item), document) for item in error.errors(include_url=False)]


def _diagnostic(error: dict[str, Any], document: Document) -> Diagnostic:
    route = _existing(document.data, error["loc"])
    reason = str(error["msg"]).removeprefix("Value error, ").strip()
    return Diagnostic(
        id="ORB023",
        message=f"{format_route(route) or 'the experiment'}: {reason[:1].lower() + reason[1:]}",
        place=document.place(route),
        help=reason[:1].lower() + reason[1:],
    )


def _existing(data: Any, location: tuple[str | int, ...]) -> Route:
    """The part of pydantic's location that names keys of the document, without its union labels."""
    route: list[str | int] = []
    for part in location:
        in_mapping = isinstance(data, dict) and part in data
        in_list = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if in_mapping or in_list:
            below: Any = data
            data = below[part]
            route.append(part)
    return tuple(route)
