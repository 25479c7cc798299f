"""Prompt templates: Jinja over the fields of a row, in a sandbox with a budget.

`validate` may be run on somebody else's spec, so a template must not reach Python objects, hang, or fill the memory.
Jinja's sandbox stops the first. For the others every operation that can repeat or grow (loops, `range`, operators,
`~`, filters, calls) pays for its size out of a budget for each rendering, before it runs where that matters.
Statements that could grow text unseen (macros, blocks, captures, includes) are refused, and filters and methods are the
plain ones. A row's prompt is text with a few substitutions; it needs no more.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import wraps
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, UndefinedError, nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from orbiter_spec.diagnostics import nearest

BUDGET = 300_000
"""Characters, items and loop turns that one rendering may cost, beside eight times the size of its row."""

_FILTERS = """
abs capitalize count d default dictsort first float groupby int items join last length list lower map max min reject
rejectattr replace reverse round select selectattr sort string striptags sum title tojson trim truncate unique upper
wordcount
"""
_METHODS = """
capitalize casefold count endswith find get index isalnum isalpha isdigit islower isnumeric isspace istitle isupper
items join keys lower lstrip partition removeprefix removesuffix replace rfind rpartition rsplit rstrip split splitlines
startswith strip swapcase title upper values
"""
FILTERS, METHODS = frozenset(_FILTERS.split()), frozenset(_METHODS.split())

REFUSED: dict[type[nodes.Node], str] = {
    nodes.Macro: "macro",
    nodes.CallBlock: "call block",
    nodes.FilterBlock: "filter block",
    nodes.AssignBlock: "set block",
    nodes.Block: "block",
    nodes.Extends: "extends",
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "import",
}


class PromptError(Exception):
    """A template that cannot be used, or a row that it cannot be used on. `line` counts from one in the template."""

    def __init__(self, message: str, *, line: int | None = None, help: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.help = help


class PromptTemplate:
    """A compiled template; `render` may be called for any number of rows. Not for several threads at once."""

    def __init__(self, text: str) -> None:
        """Raises `PromptError` when `text` is no template or uses what is refused."""
        self._environment = _Environment()
        try:
            tree = self._environment.parse(text)
            self._plain = _plain_parts(tree)
            tree = _prepare(tree)
            code = self._environment.compile(tree)
        except TemplateSyntaxError as error:
            raise PromptError(f"template syntax: {_one_line(error.message or '')}", line=error.lineno) from None
        except (TemplateError, SyntaxError, RecursionError) as error:
            raise PromptError(f"template cannot be compiled: {_one_line(str(error))}") from None
        self._template = self._environment.template_class.from_code(self._environment, code, self._environment.globals)

    def render(self, fields: Mapping[str, Any]) -> str:
        """The text for one row; `row` is all of its fields. Raises `PromptError`."""
        if self._plain is not None:
            texts = [fields.get(part) if is_name else part for is_name, part in self._plain]
            if all(type(text) is str for text in texts):
                return "".join(texts)  # type: ignore[arg-type]
        try:
            self._environment.start(fields)
            return self._template.render({"row": fields, **fields})
        except UndefinedError as error:
            raise _explain_undefined(error, fields) from None
        except SecurityError as error:
            raise PromptError(f"template is not allowed to: {_one_line(str(error))}") from None
        except RecursionError:
            raise PromptError("template nests values too deeply") from None
        except Exception as error:  # whatever an expression of the user's raises
            raise PromptError(f"template failed: {type(error).__name__}: {_one_line(str(error))}") from None


def _plain_parts(tree: nodes.Template) -> list[tuple[bool, str]] | None:
    """Text and names of a template that is nothing else: where the fields are text it is joined, ten times as fast."""
    inside = tree.body[0].nodes if len(tree.body) == 1 and isinstance(tree.body[0], nodes.Output) else []
    parts: list[tuple[bool, str]] = []
    for node in inside:
        if isinstance(node, nodes.TemplateData):
            parts.append((False, node.data))
        elif isinstance(node, nodes.Name) and node.name not in _TAKEN:
            parts.append((True, node.name))
        else:
            return None
    return parts if 0 < sum(is_name for is_name, _ in parts) <= MOST_PLAIN_NAMES else None


_TAKEN = frozenset(("row", "range", "dict", "namespace", "self"))
MOST_PLAIN_NAMES = 8
"""A row's text so many times is within every budget."""


def _explain_undefined(error: UndefinedError, fields: Mapping[str, Any]) -> PromptError:
    message = _one_line(error.message or "")
    missing = re.match(r"'([^']+)' is undefined", message)
    if missing is None:
        return PromptError(f"template uses something that is not there: {message}")
    close = nearest(missing[1], fields)
    listed = ", ".join(list(fields)[:12])
    help = f"did you mean {close}?" if close else f"the row has {listed or 'no fields'}"
    return PromptError(f"template names {missing[1]!r}, which the row does not have", help=help)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]


class _Environment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox with a budget. Constants are not folded: nothing may run while a template is compiled."""

    intercepted_binops = frozenset(["+", "*", "**", "%", "//", "/", "-"])

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined,
            autoescape=False,
            optimized=False,
            keep_trailing_newline=False,
            finalize=self.show,
        )
        self.budget = BUDGET
        self.filters = {name: self._paid(name, self.filters[name]) for name in FILTERS}
        self.globals = {"range": self._range, "dict": dict, "namespace": self.globals["namespace"]}

    def start(self, fields: Mapping[str, Any]) -> None:
        """Begin a rendering with a full budget."""
        self.budget = sys.maxsize
        self.budget = BUDGET + 8 * self.size(fields)

    def spend(self, amount: int) -> None:
        """Pay for an operation; raises SecurityError when the budget is used up."""
        self.budget -= amount
        if self.budget < 0:
            raise SecurityError(f"do so much work for one row (over {BUDGET:,} characters, items and loop turns)")

    def size(self, value: Any) -> int:
        """What a value costs: its characters, items and digits, through all levels, each at least one."""
        total, waiting = 0, [value]
        while waiting:
            item = waiting.pop()
            total += 1
            if isinstance(item, (str, bytes, range)):
                total += len(item)
            elif isinstance(item, int):
                total += item.bit_length() // 4
            elif isinstance(item, dict):
                waiting.extend(item)
                waiting.extend(item.values())
            elif isinstance(item, (list, tuple, set)):
                waiting.extend(item)
            if total + len(waiting) > self.budget:
                self.spend(total + len(waiting))
        return total

    def show(self, value: Any) -> Any:
        """Called on everything a template prints."""
        self.spend(self.size(value))
        return value

    def turns(self, values: Iterable[Any]) -> Iterable[Any]:
        """The values of a loop: paid at once when they are at hand, else one by one."""
        if isinstance(values, (str, list, tuple, range, dict)):
            self.spend(len(values) + 1)
            return values
        return self._each(values)

    def _each(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self.spend(1)
            yield value

    def joined(self, *values: Any) -> str:
        """The operator `~`."""
        self.spend(sum(map(self.size, values)))
        return "".join(map(str, values))

    def _range(self, *bounds: int) -> range:
        values = range(*bounds)
        if not -BUDGET < values.start < BUDGET or not -BUDGET < values.stop < BUDGET:
            self.spend(self.budget + 1)
        self.spend(len(values))
        return values

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Arithmetic, paid before it is done."""
        if operator == "%" and isinstance(left, str):
            raise SecurityError("format text with %; write {{ name }} instead")
        sizes = self.size(left), self.size(right)
        repeats = [abs(value) for value in (left, right) if isinstance(value, int)]
        if operator == "**":
            self.spend(sizes[0] * max(repeats[-1:] or [1]))
        elif operator == "*" and repeats and not all(isinstance(value, (int, float)) for value in (left, right)):
            self.spend(max(sizes) * max(1, min(repeats)))
        self.spend(sum(sizes))
        return super().call_binop(context, operator, left, right)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Plain methods of text, lists and mappings, and what a loop or a namespace knows."""
        known = attr in METHODS or isinstance(obj, (LoopContext, Namespace))
        return known and super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> None:
        """Jinja's safe `str.format` still pads to any width, so there is none."""
        return None

    def call(self, context: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls of methods and of the few global functions."""
        owner = getattr(function, "__self__", None)
        if owner is not self and owner is not None:
            self._pay_for(getattr(function, "__name__", ""), (owner, *args, *kwargs.values()))
        return super().call(context, function, *args, **kwargs)

    def _pay_for(self, name: str, values: tuple[Any, ...]) -> None:
        sizes = [self.size(value) for value in values]
        self.spend(sum(sizes))
        if name in ("join", "replace"):
            self.spend(sizes[0] * max(sizes[1:], default=1))

    def _paid(self, name: str, function: Any) -> Any:
        skipped = 1 if hasattr(function, "jinja_pass_arg") else 0

        @wraps(function)
        def filtered(*args: Any, **kwargs: Any) -> Any:
            self._pay_for(name, (*args[skipped:], *kwargs.values()))
            return function(*args, **kwargs)

        return filtered


def _prepare(tree: nodes.Template) -> nodes.Template:
    """Refuse what cannot be metered, and make loops and `~` go through the environment."""
    for kind, name in REFUSED.items():
        found = next(tree.find_all(kind), None)
        if found is not None:
            message = f"template uses {name}, which prompts may not"
            raise PromptError(message, line=found.lineno, help="prompts may use {{ }}, if, for and set")
    for loop in list(tree.find_all(nodes.For)):
        if loop.recursive:
            raise PromptError("template uses a recursive loop, which prompts may not", line=loop.lineno)
        loop.iter = _through("turns", [loop.iter], loop.lineno)
    _replace_concatenation(tree)
    return tree


def _replace_concatenation(node: nodes.Node) -> None:
    for name, value in node.iter_fields():
        if isinstance(value, list):
            value[:] = [_metered(item) for item in value]
        elif isinstance(value, nodes.Node):
            setattr(node, name, _metered(value))
    for child in node.iter_child_nodes():
        _replace_concatenation(child)


def _metered(node: Any) -> Any:
    return _through("joined", node.nodes, node.lineno) if isinstance(node, nodes.Concat) else node


def _through(method: str, args: list[Any], line: int) -> nodes.Call:
    function = nodes.EnvironmentAttribute(method, lineno=line)
    return nodes.Call(function, list(args), [], None, None, lineno=line)
