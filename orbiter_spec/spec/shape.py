"""Shape errors: what the JSON Schema refuses, said at the place in the user's file.

jsonschema finds the errors; this module only turns each into one diagnostic. The one judgement here is `anyOf`: a value
that could be a scalar or a mapping is explained by the branch of its own type, so that a misspelt key deep inside a
mapping is not reported as "not a string".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from orbiter_spec.diagnostics import Diagnostic, nearest
from orbiter_spec.source import Document, Route, format_route
from orbiter_spec.spec.schema import packaged_schema

TYPE_NAMES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}


def check_shape(document: Document) -> list[Diagnostic]:
    """Every place where `document` does not have the shape of an experiment."""
    schema = packaged_schema()
    validator = Draft202012Validator(schema)
    return [found for error in validator.iter_errors(document.data) for found in _explain(error, document)]


def _explain(error: ValidationError, document: Document) -> Iterator[Diagnostic]:
    route: Route = tuple(error.absolute_path)
    kind = str(error.validator)
    if kind == "anyOf":
        yield from _explain_choice(error, document)
    elif kind == "additionalProperties":
        yield from _unknown_keys(error, route, document)
    elif kind == "required":
        yield from _missing_fields(error, route, document)
    elif kind == "type":
        yield _wrong_type(error.instance, [error.validator_value], route, document)
    elif kind in ("enum", "const"):
        yield _not_among(error, route, document)
    else:
        yield _bad_value(error, route, document)


def _properties(error: ValidationError) -> dict[str, Any]:
    """The fields that the schema behind `error` knows."""
    schema: Any = error.schema
    found: dict[str, Any] = schema.get("properties", {})
    return found


def _instance(error: ValidationError) -> Any:
    return error.instance


def _wanted(error: ValidationError) -> list[Any]:
    values: Any = error.validator_value
    return list(values)


def _explain_choice(error: ValidationError, document: Document) -> Iterator[Diagnostic]:
    branches: dict[int, list[ValidationError]] = {}
    for inner in error.context or []:
        branches.setdefault(int(inner.relative_schema_path[0]), []).append(inner)
    fitting = [errors for errors in branches.values() if not _refuses_type(errors)]
    if fitting:
        for inner in min(fitting, key=len):
            yield from _explain(inner, document)
        return
    yield _wrong_type(error.instance, list(_wanted_types(error)), tuple(error.absolute_path), document)


def _refuses_type(errors: list[ValidationError]) -> bool:
    """True when a branch fails on the value itself being of another type."""
    return any(inner.validator == "type" and len(inner.relative_path) == 0 for inner in errors) or any(
        inner.validator == "anyOf"
        and len(inner.relative_path) == 0
        and all(_refuses_type([deeper]) for deeper in inner.context or [])
        for inner in errors
    )


def _wanted_types(error: ValidationError) -> Iterator[Any]:
    """The types of every branch, branches inside branches included."""
    for inner in error.context or []:
        if inner.validator == "type":
            yield inner.validator_value
        elif inner.validator == "anyOf":
            yield from _wanted_types(inner)


def _unknown_keys(error: ValidationError, route: Route, document: Document) -> Iterator[Diagnostic]:
    known = sorted(_properties(error))
    where = format_route(route) or "an experiment"
    for key in _instance(error):
        if key in known:
            continue
        close = nearest(str(key), known)
        yield Diagnostic(
            id="ORB020",
            message=f"unknown key {key!r} in {where}",
            place=document.place((*route, key), key=True),
            note=f"did you mean {close!r}?" if close else "no such key here",
            help=f"write {close}" if close else f"known keys: {', '.join(known)}",
        )


def _missing_fields(error: ValidationError, route: Route, document: Document) -> Iterator[Diagnostic]:
    where = format_route(route) or "the experiment"
    known = _properties(error)
    misspelt = {nearest(str(key), known) for key in _instance(error) if key not in known}
    for name in _wanted(error):
        if name in _instance(error) or name in misspelt:
            continue
        about = _field_schema(error, name).get("description", "")
        yield Diagnostic(
            id="ORB022",
            message=f"{where} has no {name!r}",
            place=document.place(route, key=True),
            note=f"{name!r} is required",
            help=f"add {name}: {about[:1].lower() + about[1:]}" if about else f"add {name}",
        )


def _field_schema(error: ValidationError, name: str) -> dict[str, Any]:
    found: dict[str, Any] = _properties(error).get(name, {})
    if "$ref" in found and "description" not in found:
        return dict(packaged_schema()["$defs"][found["$ref"].rpartition("/")[2]])
    return found


def _wrong_type(value: Any, types: list[Any], route: Route, document: Document) -> Diagnostic:
    wanted = list(dict.fromkeys(TYPE_NAMES.get(str(name), str(name)) for name in _flat(types)))
    expected = " or ".join(wanted)
    advice = f"write {expected}"
    if value is None:
        advice = "write a value, or leave the key out"
    elif isinstance(value, str) and {"a number", "a whole number"} & set(wanted) and _is_number(value):
        advice = f"remove the quotes: {value}"
    return Diagnostic(
        id="ORB021",
        message=f"{format_route(route) or 'the experiment'} must be {expected}",
        place=document.place(route),
        note=f"this is {_type_of(value)}",
        help=advice,
    )


def _not_among(error: ValidationError, route: Route, document: Document) -> Diagnostic:
    allowed = [error.validator_value] if error.validator == "const" else _wanted(error)
    shown = ", ".join(str(item) for item in allowed)
    close = nearest(str(error.instance), [str(item) for item in allowed])
    return Diagnostic(
        id="ORB023",
        message=f"{format_route(route)} cannot be {_shown(error.instance)}",
        place=document.place(route),
        note=f"did you mean {close}?" if close else "not one of the known values",
        help=f"use one of: {shown}" if len(allowed) > 1 else f"write {shown}",
    )


_LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "greater than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minItems": "a list of at least {}",
    "maxItems": "a list of at most {}",
    "pattern": "text that matches {}",
}


def _bad_value(error: ValidationError, route: Route, document: Document) -> Diagnostic:
    wanted = _LIMITS.get(str(error.validator), "{}").format(error.validator_value)
    examples = error.schema.get("examples") if isinstance(error.schema, dict) else None
    return Diagnostic(
        id="ORB023",
        message=f"{format_route(route)} cannot be {_shown(error.instance)}",
        place=document.place(route),
        note=f"must be {wanted}",
        help=f"for example {', '.join(map(str, examples))}" if examples else f"write {wanted}",
    )


def _flat(types: list[Any]) -> Iterator[Any]:
    for item in types:
        yield from item if isinstance(item, list) else [item]


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    for kind, name in ((dict, "object"), (list, "array"), (str, "string"), (int, "integer"), (float, "number")):
        if isinstance(value, kind):
            return TYPE_NAMES[name]
    return "empty"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
