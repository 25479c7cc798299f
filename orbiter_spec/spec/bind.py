"""From a document of the right shape to an `Experiment`.

The models accept or refuse. What is wrong with keys and types is then said by the JSON Schema, which is made from the
models and speaks of one place at a time; what is left to pydantic are the conditions a schema cannot say, such as one
of two fields. A document without errors never loads the schema, which is a tenth of the time of `validate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from orbiter_spec.diagnostics import Diagnostic
from orbiter_spec.source import Document, Route, format_route

if TYPE_CHECKING:
    from orbiter_spec.spec.experiment import Experiment


def bind(document: Document) -> tuple[Experiment | None, list[Diagnostic]]:
    """The experiment that `document` describes, or None and every reason why it is none."""
    from orbiter_spec.spec.experiment import Experiment

    problems = _shape_problems(document) if _has_null(document.data) else []
    if problems:
        return None, problems
    try:
        return Experiment.model_validate(document.data), []
    except ValidationError as error:
        said = [_diagnostic(dict(item), document) for item in error.errors(include_url=False)]
        return None, _shape_problems(document) or said


def _shape_problems(document: Document) -> list[Diagnostic]:
    from orbiter_spec.spec.shape import check_shape

    return check_shape(document)


def _has_null(node: Any) -> bool:
    """Whether a value is missing after its colon: pydantic takes that for a field left out, the schema does not."""
    items = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return node is None or any(_has_null(item) for item in items)


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
