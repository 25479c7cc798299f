"""Columns of prepared files, as verl puts several files together and reads a row: do their types fit.

verl loads each file by itself and concatenates them with `datasets`, which takes a column that is missing in one file
and refuses one of another type. Its rule is asked here of the files' footers: types are the same, null fits
everything, and the fields of a struct are compared one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from orbiter_spec.data.opening import suffix_of
from orbiter_spec.data.request import SourceRequest
from orbiter_spec.diagnostics import Diagnostic, Related


def disagreements(sources: Sequence[SourceRequest]) -> Iterator[Diagnostic]:
    """The first column of each file that does not go with the files before it; unreadable files are left out."""
    from pyarrow import ArrowException, parquet

    seen: dict[str, tuple[Any, SourceRequest]] = {}
    for source in sources if len(sources) > 1 else ():
        if not source.path.is_file() or suffix_of(source.path) != ".parquet":
            continue
        try:
            schema = parquet.read_schema(source.path)
        except (OSError, ArrowException):
            continue
        columns = {field.name: field.type for field in schema}
        other = next((name for name, kind in columns.items() if name in seen and not fits(seen[name][0], kind)), None)
        if other is not None:
            yield _differs(other, source, columns[other], *seen[other])
        for name, kind in columns.items():
            if name not in seen or is_null(seen[name][0]):
                seen[name] = kind, source


def fits(one: Any, other: Any) -> bool:
    """Whether `datasets` puts columns of two Arrow types together."""
    from pyarrow import types

    if types.is_null(one) or types.is_null(other):
        return True
    if _is_list(one) and type(one) is type(other) and (is_null(one) or is_null(other)):
        return True
    if types.is_struct(one) and types.is_struct(other):
        fields = {field.name: field.type for field in one}
        return all(fits(fields[field.name], field.type) for field in other if field.name in fields)
    return bool(_plain(one) == _plain(other))


def is_null(kind: Any) -> bool:
    """True for a column, or a list, in which there is nothing."""
    from pyarrow import types

    return bool(types.is_null(kind) or (_is_list(kind) and is_null(kind.value_type)))


def is_messages(kind: Any) -> bool:
    """Whether a column of this type holds lists of messages, or nothing that tells otherwise."""
    from pyarrow import types

    if is_null(kind):
        return True
    return _is_list(kind) and bool(types.is_struct(kind.value_type) or types.is_map(kind.value_type))


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _plain(kind: Any) -> Any:
    """A type as `datasets` compares it: a list by what is in it, a struct by its fields without their order."""
    from pyarrow import types

    if types.is_struct(kind):
        return frozenset((field.name, _plain(field.type)) for field in kind)
    if types.is_list(kind):
        return ("list", _plain(kind.value_type))
    return str(kind)


def _differs(name: str, source: SourceRequest, kind: Any, before: Any, first: SourceRequest) -> Diagnostic:
    return Diagnostic(
        "ORB459",
        f"prepared file {source.label} has a column {name!r} of another type than {first.label}",
        source.place,
        note=f"{_short(kind)} here, {_short(before)} there",
        help="write both files with one type, or remove prepared: true and let the rows be built",
        related=() if first.place is None else (Related(first.place, _short(before)),),
    )


def _short(kind: Any) -> str:
    text = str(kind)
    return text if len(text) <= 80 else f"{text[:77]}..."
