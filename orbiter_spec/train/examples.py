"""Functions over lists of examples: the code of the pipeline's steps, for data in memory.

An example is a mapping with an input and mostly an output, under any of the usual names, or a TrajectoryItem, whose
state is its input and whose action its output. Every function gives a new list of the same kind of examples, in the
order of the old one, and changes none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, TypeVar

from orbiter_spec.data import augment
from orbiter_spec.data.flow import Flow
from orbiter_spec.data.pipeline import Context, StepError, draw, in_batches
from orbiter_spec.data.read import Row
from orbiter_spec.data.request import SourceRequest, StepRequest
from orbiter_spec.train.trajectories import TrajectoryItem

Example = TypeVar("Example", Mapping[str, Any], TrajectoryItem)
_SOURCE = SourceRequest(Path("example"), shown="example")


class ExampleError(ValueError):
    """Examples that a function cannot be used on."""


def filter_by_score(
    data: Sequence[Example], min_score: float, *, max_score: float | None = None, column: str | None = None
) -> list[Example]:
    """The examples with a score of `min_score` or more; the score is `column`, or else `score` or `reward`.

    Raises ExampleError for an example without one.
    """
    settings: dict[str, Any] = {"min": min_score}
    settings |= {} if max_score is None else {"max": max_score}
    return _kept("filter_by_score", settings | ({} if column is None else {"column": column}), data)


def deduplicate(
    data: Sequence[Example], threshold: float = 1.0, *, columns: Sequence[str] | None = None
) -> list[Example]:
    """The first of examples that are the same, or whose word shingles have a Jaccard similarity of `threshold`.

    Similarity is estimated by MinHash. `columns` are compared, left out: the input and the output.
    Raises ExampleError for a threshold outside (0, 1] and for an example without the columns.
    """
    if not 0 < threshold <= 1:
        raise ExampleError(f"threshold must be above 0 and at most 1, and is {threshold}")
    if not data:
        return []
    named = list(columns) if columns is not None else ["\0input", "\0output"]
    return _kept("deduplicate", {"threshold": threshold, "columns": named}, data)


def split_dataset(
    data: Sequence[Example], ratios: Sequence[float] = (0.8, 0.1, 0.1), *, seed: int = 0
) -> tuple[list[Example], ...]:
    """The examples in as many parts as there are ratios; who goes where is drawn with `seed`.

    Raises ExampleError for ratios that do not add up to one.
    """
    if not ratios or min(ratios) < 0 or abs(sum(ratios) - 1) > 1e-6:
        raise ExampleError(f"ratios must be at least 0 and add up to 1: {list(ratios)}")
    order = sorted(range(len(data)), key=lambda position: draw(seed, position))
    ends = [round(sum(ratios[:count]) * len(data)) for count in range(len(ratios) + 1)]
    return tuple([data[position] for position in sorted(order[start:end])] for start, end in pairwise(ends))


def augment_add_noise(
    data: Sequence[Example], noise_level: float = 0.1, *, seed: int = 0, column: str | None = None
) -> list[Example]:
    """A copy of each example with about `noise_level` (0 to 1) of its input's characters changed.

    Raises ExampleError for an example without an input, and for a level outside 0 to 1.
    """
    return _changed(data, lambda rows: augment.augment_add_noise(rows, noise_level, seed=seed, column=column))


def augment_swap_io(data: Sequence[Example]) -> list[Example]:
    """A copy of each example with input and output exchanged. Raises ExampleError for one that lacks either."""
    return _changed(data, augment.augment_swap_io)


def fields_of(example: Mapping[str, Any] | TrajectoryItem) -> dict[str, Any]:
    """An example as a row's fields."""
    return asdict(example) if isinstance(example, TrajectoryItem) else dict(example)


def _changed(data: Sequence[Example], change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> list[Example]:
    try:
        changed = change([fields_of(example) for example in data])
    except (KeyError, ValueError) as error:
        raise ExampleError(str(error.args[0] if error.args else error)) from None
    return [_like(example, fields) for example, fields in zip(data, changed, strict=True)]


def _like(example: Example, fields: dict[str, Any]) -> Example:
    return TrajectoryItem(**fields) if isinstance(example, TrajectoryItem) else fields  # type: ignore[return-value]


def _kept(step: str, settings: Mapping[str, Any], data: Sequence[Example]) -> list[Example]:
    """The examples that a step keeps."""
    rows = (Row(_SOURCE, number, _compared(fields_of(item))) for number, item in enumerate(data, start=1))
    try:
        flow = Flow(Context()).run(in_batches(rows), [StepRequest(step, settings)])
        return [data[row.number - 1] for row in chain.from_iterable(flow)]
    except StepError as error:
        note = f" ({error.note})" if error.note else ""
        raise ExampleError(f"{error}{note}") from None


def _compared(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields, with input and output under one name each whatever they are called."""
    roles = (("\0input", augment.INPUT_NAMES), ("\0output", augment.OUTPUT_NAMES))
    found = {role: next((fields[name] for name in names if name in fields), None) for role, names in roles}
    return {**fields, **{role: value for role, value in found.items() if value is not None}}
