"""A tool of the example specs: integer arithmetic that says what it cannot read."""

from __future__ import annotations

import ast
import operator

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def calculate(expression: str) -> str:
    """Work out an arithmetic expression.

    Args:
        expression: Integers with +, - and *, such as 12*(3+4). As on a pocket calculator, other keys do nothing.
    """
    keys = "".join(key for key in expression if key in "0123456789+-*()")
    return str(_value(ast.parse(keys, mode="eval").body))


def _value(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return int(OPERATORS[type(node.op)](_value(node.left), _value(node.right)))
    raise ValueError("not integer arithmetic")
