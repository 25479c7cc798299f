"""Expressions over a row's fields, for `filter`: Python's syntax for values, evaluated by simpleeval, never by eval.

A spec may be somebody else's, so an expression must not reach Python objects, hang, or fill the memory. A name is a
field of the row and a dot reaches into a mapping; there are no attributes at all. Only what is listed here exists:
operators that check the type and size of what they are given, a few functions, and a few methods of text. There are no
loops, no comprehensions, no formatting and no repetition of text, so the time of one row is bounded by the number of
operations that were written times the size of the row.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from simpleeval import EvalWithCompoundTypes, InvalidExpression

from orbiter_spec.diagnostics import nearest

MAX_CHARACTERS = 4_000
MAX_NODES = 500
MAX_TEXT = 100_000_000
MAX_NUMBER = 1 << 256
MAX_EXPONENT = 64

METHODS: Final = frozenset(("count", "endswith", "find", "isdigit", "lower", "split", "startswith", "strip", "upper"))


class ExpressionError(Exception):
    """An expression that cannot be used, or a row on which it fails."""

    def __init__(self, message: str, *, help: str = "") -> None:
        super().__init__(message)
        self.help = help


class Expression:
    """A checked expression. Not for several threads at once."""

    def __init__(self, text: str) -> None:
        """Raises `ExpressionError` when `text` is no expression or uses what there is not."""
        self.text = text
        tree = _parse(text)
        _check(tree)
        self._body = tree.body
        self._evaluator = _Evaluator()
        self._evaluator.expr = text

    def evaluate(self, fields: Mapping[str, Any]) -> Any:
        """The value for one row. Raises `ExpressionError`."""
        self._evaluator.fields = fields
        try:
            return self._evaluator._eval(self._body)
        except ExpressionError:
            raise
        except InvalidExpression as error:
            raise ExpressionError(_one_line(str(error))) from None
        except RecursionError:
            raise ExpressionError("a value is nested too deeply") from None
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise ExpressionError(_one_line(f"{type(error).__name__}: {error}")) from None


def _parse(text: str) -> ast.Expression:
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"expression is longer than {MAX_CHARACTERS} characters")
    try:
        return ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise ExpressionError(f"expression cannot be read: {error.msg}", help=_SYNTAX_HELP) from None
    except (ValueError, RecursionError, MemoryError):
        raise ExpressionError("expression cannot be read: it is nested too deeply or holds a NUL byte") from None


_SYNTAX_HELP = "write a comparison such as len(question) < 2000 and level in [1, 2]"


def _check(tree: ast.Expression) -> None:
    for count, node in enumerate(ast.walk(tree.body), start=1):
        if count > MAX_NODES:
            raise ExpressionError(f"expression has more than {MAX_NODES} parts")
        if not isinstance(node, _ALLOWED):
            raise ExpressionError(f"expression uses {_word(node)}, which expressions do not have")
        if isinstance(node, ast.Constant) and not isinstance(node.value, (str, int, float, bool, type(None))):
            raise ExpressionError(f"expression holds a {type(node.value).__name__}, which no row has")
        if isinstance(node, ast.Call):
            _check_call(node)


def _check_call(node: ast.Call) -> None:
    if node.keywords:
        raise ExpressionError("functions of an expression take no names", help="write the arguments in their order")
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    known: Mapping[str, Any] | frozenset[str] = METHODS if isinstance(node.func, ast.Attribute) else FUNCTIONS
    if name not in known:
        close = nearest(name, known)
        help = f"did you mean {close}?" if close else f"there are {', '.join(sorted(known))}"
        raise ExpressionError(f"there is no {name or 'such'}()", help=help)


_ALLOWED = (
    ast.Attribute,
    ast.BinOp,
    ast.BoolOp,
    ast.Call,
    ast.Compare,
    ast.Constant,
    ast.Dict,
    ast.IfExp,
    ast.List,
    ast.Load,
    ast.Name,
    ast.Slice,
    ast.Subscript,
    ast.Tuple,
    ast.UnaryOp,
    *(ast.And, ast.Or, ast.Not, ast.USub, ast.UAdd),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot),
)


def _word(node: ast.AST) -> str:
    return {"ListComp": "a comprehension", "GeneratorExp": "a comprehension", "JoinedStr": "an f-string"}.get(
        type(node).__name__, f"{type(node).__name__.lower()}"
    )


class _Evaluator(EvalWithCompoundTypes):  # type: ignore[misc]
    """simpleeval with names and attributes that mean fields, and nothing else that has a meaning."""

    nodes: dict[type, Callable[[Any], Any]]

    def __init__(self) -> None:
        super().__init__(operators=_OPERATORS, functions={}, names={})
        self.fields: Mapping[str, Any] = {}
        self.nodes = {kind: handler for kind, handler in self.nodes.items() if kind in _ALLOWED}
        self.nodes |= {ast.Name: self._field, ast.Attribute: self._inner_field, ast.Call: self._call}

    def _field(self, node: ast.Name) -> Any:
        try:
            return self.fields[node.id]
        except KeyError:
            raise _no_field(node.id, self.fields) from None

    def _inner_field(self, node: ast.Attribute) -> Any:
        value = self._eval(node.value)
        if not isinstance(value, Mapping):
            raise ExpressionError(f"there is no .{node.attr} in {_kind(value)}", help="a dot reaches into a mapping")
        if node.attr not in value:
            raise _no_field(node.attr, value)
        return value[node.attr]

    def _call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            text = self._eval(node.func.value)
            if not isinstance(text, str):
                raise ExpressionError(f"{node.func.attr}() is a method of text, not of {_kind(text)}")
            return getattr(text, node.func.attr)(*[self._eval(argument) for argument in node.args])
        assert isinstance(node.func, ast.Name)
        arguments = [self._eval(argument) for argument in node.args]
        if node.func.id in ("get", "has"):
            return _look_up(self.fields, node.func.id, arguments)
        return FUNCTIONS[node.func.id](*arguments)


def _look_up(fields: Mapping[str, Any], function: str, arguments: list[Any]) -> Any:
    value: Any = fields
    for part in str(arguments[0]).split(".") if arguments else ():
        if not isinstance(value, Mapping) or part not in value:
            return False if function == "has" else (arguments[1] if len(arguments) > 1 else None)
        value = value[part]
    return True if function == "has" else value


def _no_field(name: str, fields: Mapping[str, Any]) -> ExpressionError:
    close = nearest(name, fields)
    advice = f"did you mean {close}?" if close else f"the row has {', '.join(list(fields)[:12]) or 'no fields'}"
    return ExpressionError(f"row has no {name}", help=f'{advice} get("{name}", 0) gives a value where there is none')


def _number(value: Any) -> Any:
    if not isinstance(value, (int, float)):
        raise ExpressionError(f"{_kind(value)} is no number", help="float(column) reads a number from text")
    if isinstance(value, int) and abs(value) > MAX_NUMBER:
        raise ExpressionError("a number grows too large")
    return value


def _numeric(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: _number(function(_number(left), _number(right)))


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        if len(left) + len(right) > MAX_TEXT:
            raise ExpressionError("a text grows too long")
        return left + right
    return _number(_number(left) + _number(right))


def _power(base: Any, exponent: Any) -> Any:
    if abs(_number(exponent)) > MAX_EXPONENT or abs(_number(base)) > 1e9:
        raise ExpressionError(f"powers have exponents up to {MAX_EXPONENT} and bases up to 1e9")
    return base**exponent


def _kind(value: Any) -> str:
    kinds = {str: "text", list: "a list", dict: "a mapping", type(None): "null", bool: "true or false"}
    return kinds.get(type(value), f"a {type(value).__name__}")


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]


_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: _add,
    ast.Sub: _numeric(operator.sub),
    ast.Mult: _numeric(operator.mul),
    ast.Div: _numeric(operator.truediv),
    ast.FloorDiv: _numeric(operator.floordiv),
    ast.Mod: _numeric(operator.mod),
    ast.Pow: _power,
    ast.Not: operator.not_,
    ast.USub: lambda value: -_number(value),
    ast.UAdd: _number,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, values: item in values,
    ast.NotIn: lambda item, values: item not in values,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


def _words(value: Any) -> int:
    return len(str(value).split())


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "abs": lambda value: abs(_number(value)),
    "bool": bool,
    "float": float,
    "get": _look_up,
    "has": _look_up,
    "int": lambda value: int(value),
    "len": len,
    "max": max,
    "min": min,
    "round": lambda value, digits=0: round(_number(value), digits),
    "str": str,
    "words": _words,
}
"""`get("a.b", 0)` is a field or what stands for it, `has("a.b")` whether there is one, `words(x)` a count of words."""
