"""A tool of the example specs: integer arithmetic, nothing else."""

from __future__ import annotations

import ast
import operator

from verl.tools.function_tool import function_tool

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


@function_tool
def calculate(expression: str) -> str:
    """Work out an arithmetic expression.

    Args:
        expression: Integers with +, - and *, such as 12 * (3 + 4).
    """
    try:
        return str(_value(ast.parse(expression, mode="eval").body))
    except (SyntaxError, ValueError, RecursionError):
        return "error: write integers with +, - and * only"


def _value(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return int(OPERATORS[type(node.op)](_value(node.left), _value(node.right)))
    raise ValueError("not integer arithmetic")
