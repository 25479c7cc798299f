"""Rows from templates: each takes one combination of values, drawn without repetition.

The combinations are numbered, and a number is drawn as shuffled rows are: by hash. Only as many combinations are made
as there are rows asked for, so a template over many long lists costs no more than its rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jinja2 import Environment, meta

from orbiter_spec.data.pipeline import draw
from orbiter_spec.data.template import PromptError, PromptTemplate

MOST = 1_000_000
EVERY = 100_000
"""Up to so many combinations are put in order whole; of more, numbers are drawn one by one."""


def expand(
    texts: Sequence[str],
    variables: Mapping[str, Sequence[Any]],
    rows: int | None,
    seed: int,
    expected: str | None = None,
    first: int | None = None,
) -> Iterator[dict[str, Any]]:
    """Fields `question`, the variables it was made from and, with `expected`, `answer`.

    At most `rows` rows, and no more than there are combinations of the variables a template uses; None takes all.
    Of these the `first` are made. Raises `PromptError` for a template that cannot be used or names a variable there is
    none of, and for more than `MOST` rows.
    """
    answers = PromptTemplate(expected) if expected is not None else None
    forms = [_Form(text, variables, expected) for text in texts]
    total = sum(form.count for form in forms)
    count = total if rows is None else min(rows, total)
    if count > MOST:
        raise PromptError(f"templates would make {count:,} rows", help=f"say how many rows, up to {MOST:,}")
    for number in _numbers(total, count if first is None else min(first, count), seed):
        form, own = _form_of(forms, number)
        values = form.values(own)
        made = {**values, "question": form.template.render(values)}
        if answers is not None:
            made["answer"] = answers.render(values)
        yield made


class _Form:
    """One template and the variables that it and the answer use."""

    def __init__(self, text: str, variables: Mapping[str, Sequence[Any]], expected: str | None) -> None:
        self.template = PromptTemplate(text)
        used = sorted(_names(text) | (_names(expected) if expected else set()))
        missing = [name for name in used if not variables.get(name)]
        if missing:
            raise PromptError(
                f"template uses {missing[0]}, which has no values", help=f"add {missing[0]}: to variables"
            )
        self._lists = [(name, variables[name]) for name in used]
        self.count = math.prod(len(values) for _, values in self._lists)

    def values(self, number: int) -> dict[str, Any]:
        """The combination with this number."""
        chosen = {}
        for name, values in reversed(self._lists):
            number, position = divmod(number, len(values))
            chosen[name] = values[position]
        return dict(reversed(chosen.items()))


def _names(text: str) -> set[str]:
    return meta.find_undeclared_variables(Environment(autoescape=False).parse(text))


def _form_of(forms: Sequence[_Form], number: int) -> tuple[_Form, int]:
    for form in forms:
        if number < form.count:
            return form, number
        number -= form.count
    raise AssertionError(number)


def _numbers(total: int, count: int, seed: int) -> Iterator[int]:
    """`count` different numbers below `total`, in an order drawn with the seed."""
    if total <= max(EVERY, 4 * count):
        yield from sorted(range(total), key=lambda number: draw(seed, number))[:count]
        return
    seen: set[int] = set()
    attempt = 0
    while len(seen) < count:
        number = draw(seed, attempt) % total
        attempt += 1
        if number not in seen:
            seen.add(number)
            yield number
