"""Rows out of templates and lists of values.

Every template is filled with combinations of the values of the variables that it names. Templates take turns, and a
combination comes once before any comes twice. The order is drawn by hashes of the seed, so the same request gives the
same rows with every version of Python, and nothing is enumerated that is not used.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jinja2 import Environment, TemplateSyntaxError, meta

from orbiter_spec.data.template import PromptError, PromptTemplate
from orbiter_spec.diagnostics import nearest

SPARSE: Final = 4
"""A choice out of more combinations than so many times the rows is drawn one by one; of fewer, all are ordered."""

Values = Mapping[str, Sequence[Any]]


class TemplateRowsError(ValueError):
    """Templates and variables that do not fit together; `help` says what to do."""

    def __init__(self, message: str, *, help: str = "") -> None:
        super().__init__(message)
        self.help = help


@dataclass(frozen=True, slots=True)
class FilledRow:
    """One row: the text of each column, the number of its template from zero, and the values that it was made of."""

    texts: dict[str, str]
    template: int
    values: dict[str, Any]


class TemplateRows:
    """Templates (columns by name, each Jinja text) over variables (values by name)."""

    def __init__(self, templates: Sequence[Mapping[str, str]], variables: Values, *, seed: int = 0) -> None:
        """Raises TemplateRowsError for a template that cannot be used, or a variable without values."""
        if not templates:
            raise TemplateRowsError("there are no templates")
        self.seed = seed
        self._variables = variables
        self._templates = [{name: _compile(text) for name, text in columns.items()} for columns in templates]
        self._names = [_names(columns, variables) for columns in templates]
        self._sizes = [math.prod(len(variables[name]) for name in names) for names in self._names]

    @property
    def distinct(self) -> int:
        """How many different combinations there are."""
        return sum(self._sizes)

    def rows(self, count: int, *, repeat: bool = False) -> Iterator[FilledRow]:
        """`count` rows; fewer when there are no more combinations, unless these may `repeat`.

        Raises TemplateRowsError when a template fails on its values, or does too much work.
        """
        made = 0
        for lap in itertools.count():
            orders = [self._order(index, count - made, lap) for index in range(len(self._templates))]
            for index, combination in itertools.islice(_by_turns(orders), count - made):
                made += 1
                yield self._fill(index, combination)
            if made >= count or not repeat:
                return

    def _order(self, index: int, count: int, lap: int) -> Iterator[int]:
        """Up to `count` different combinations of a template, in drawn order."""
        size, key = self._sizes[index], f"{self.seed}:{index}:{lap}"
        if size <= count * SPARSE:
            yield from sorted(range(size), key=lambda number: _draw(f"{key}:{number}"))
            return
        seen: set[int] = set()
        for attempt in itertools.count():
            number = _draw(f"{key}:{attempt}") % size
            if number not in seen:
                seen.add(number)
                yield number

    def _fill(self, index: int, combination: int) -> FilledRow:
        values: dict[str, Any] = {}
        for name in self._names[index]:
            combination, position = divmod(combination, len(self._variables[name]))
            values[name] = self._variables[name][position]
        try:
            texts = {name: template.render(values) for name, template in self._templates[index].items()}
        except PromptError as error:
            raise TemplateRowsError(f"template {index + 1}: {error}", help=error.help) from None
        return FilledRow(texts, index, values)


def _by_turns(orders: Sequence[Iterator[int]]) -> Iterator[tuple[int, int]]:
    """One of each in turn, until all are used up."""
    left = list(enumerate(orders))
    while left:
        for item in list(left):
            number = next(item[1], None)
            if number is None:
                left.remove(item)
            else:
                yield item[0], number


def _compile(text: str) -> PromptTemplate:
    try:
        return PromptTemplate(text)
    except PromptError as error:
        raise TemplateRowsError(str(error), help=error.help) from None


def _names(columns: Mapping[str, str], variables: Values) -> list[str]:
    """The variables that a template's columns name, in the order of the alphabet."""
    parser = Environment(autoescape=False)  # noqa: S701
    found: set[str] = set()
    for text in columns.values():
        try:
            found |= meta.find_undeclared_variables(parser.parse(text))
        except TemplateSyntaxError as error:
            raise TemplateRowsError(f"template syntax: {error.message}") from None
    names = sorted(found - {"range", "dict", "namespace", "row"})
    for name in names:
        if not variables.get(name):
            close = nearest(name, variables)
            help = f"did you mean {close}?" if close else f"give variables.{name} a list of values"
            raise TemplateRowsError(f"variable {name!r} has no values", help=help)
    return names


def _draw(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big")
